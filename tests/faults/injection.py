"""The faults: each does its harm to a world, undoes it, and says what it did."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from duetime.runtime import clock
from tests.faults.checker import Silence
from tests.faults.world import LEASE, WorkerSlot, World
from tests.support.waiting import eventually


@dataclass
class Fault:
    """One fault that was: when it began and was undone, in machine's time, and whom it hit (nobody: all of them)."""

    kind: str
    begin: float
    end: float = 0.0
    workers: list[str] = field(default_factory=list)


@dataclass
class Scene:
    """A world under attack."""

    world: World
    choice: random.Random
    faults: list[Fault] = field(default_factory=list)
    silences: list[Silence] = field(default_factory=list)
    #: The workers that some fault has in its hands.
    taken: set[str] = field(default_factory=set)

    async def inflict(self, kind: str) -> None:
        """One fault from beginning to end."""
        fault = Fault(kind, clock.now())
        await FAULTS[kind](self, fault)
        fault.end = clock.now()
        self.faults.append(fault)

    def take(self, fault: Fault) -> WorkerSlot:
        slot = self.choice.choice([one for one in self.world.workers if one.name not in self.taken])
        self.taken.add(slot.name)
        fault.workers.append(slot.identity)
        return slot

    def span(self, shortest: float, longest: float) -> float:
        return self.choice.uniform(shortest, longest)


async def _come_back(scene: Scene, slot: WorkerSlot) -> None:
    slot.lines.clear()
    slot.start()
    await eventually(lambda: slot.says("serving") or not slot.running.running)
    assert slot.running.running, "\n".join(slot.lines)
    scene.taken.discard(slot.name)


async def kill_worker(scene: Scene, fault: Fault) -> None:
    slot = scene.take(fault)
    await slot.kill()
    await _come_back(scene, slot)


async def stop_worker(scene: Scene, fault: Fault) -> None:
    """SIGTERM, as a deploy does."""
    slot = scene.take(fault)
    code = await slot.terminate()
    assert code == 0, "\n".join(slot.lines)
    await _come_back(scene, slot)


async def freeze_worker(scene: Scene, fault: Fault) -> None:
    slot = scene.take(fault)
    begin, identity = clock.now(), slot.identity
    slot.freeze()
    await asyncio.sleep(LEASE + scene.span(1, 4))
    slot.thaw()
    # What it held when it woke may go on for a moment, until it has noticed.
    scene.silences.append(Silence(identity, begin, clock.now() + 1))
    scene.taken.discard(slot.name)


async def slow_network(scene: Scene, fault: Fault) -> None:
    slot = scene.take(fault)
    slot.proxy.delay(scene.span(0.1, 0.4))
    await asyncio.sleep(scene.span(3, 5))
    slot.proxy.heal()
    scene.taken.discard(slot.name)


async def reset_connections(scene: Scene, fault: Fault) -> None:
    slot = scene.take(fault)
    for _ in range(5):
        slot.proxy.reset()
        await asyncio.sleep(scene.span(0.2, 1))
    scene.taken.discard(slot.name)


async def black_hole(scene: Scene, fault: Fault) -> None:
    slot = scene.take(fault)
    slot.proxy.cut()
    await asyncio.sleep(scene.span(1, 2 * LEASE))
    slot.proxy.heal()
    scene.taken.discard(slot.name)


async def half_open(scene: Scene, fault: Fault) -> None:
    slot = scene.take(fault)
    slot.proxy.lose_answers()
    await asyncio.sleep(scene.span(1, 1.5 * LEASE))
    slot.proxy.reset()
    slot.proxy.heal()
    scene.taken.discard(slot.name)


async def lose_answers(scene: Scene, fault: Fault) -> None:
    """Answers are lost from just before a handler of this worker returns until after its result was taken."""
    slot = scene.take(fault)
    done = len(await _returned(scene, slot))
    slot.proxy.lose_answers()
    for _ in range(60):
        if len(await _returned(scene, slot)) > done:
            break
        await asyncio.sleep(0.05)
    await asyncio.sleep(0.3)
    slot.proxy.reset()
    slot.proxy.heal()
    scene.taken.discard(slot.name)


async def _returned(scene: Scene, slot: WorkerSlot) -> list[object]:
    ends = await asyncio.to_thread(scene.world.journal, "end")
    return [fact for fact in ends if fact["worker"] == slot.identity and fact["how"] == "returned"]


async def set_clock(scene: Scene, fault: Fault) -> None:
    slot = scene.take(fault)
    scene.world.set_clock(slot, scene.choice.choice((-1, 1)) * scene.span(5, 7200))
    await asyncio.sleep(scene.span(3, 6))
    scene.world.set_clock(slot, 0)
    scene.taken.discard(slot.name)


async def kill_api(scene: Scene, fault: Fault) -> None:
    """While callers wait for its answers."""
    api = scene.choice.choice(scene.world.apis)
    await api.kill()
    await asyncio.sleep(scene.span(0, 1))
    api.start()
    await eventually(lambda: scene.world.is_ready(api))


async def kill_server(scene: Scene, fault: Fault) -> None:
    await scene.world.engine.kill()
    await asyncio.sleep(scene.span(0, 3))
    await scene.world.engine.start()


async def crash_database(scene: Scene, fault: Fault) -> None:
    """In the middle of handlers' transactions."""
    await asyncio.to_thread(scene.world.postgres.crash)
    await asyncio.sleep(scene.span(0.5, 4))
    await asyncio.to_thread(scene.world.postgres.start_again)


FAULTS: dict[str, Callable[[Scene, Fault], Awaitable[None]]] = {
    "kill worker": kill_worker,
    "stop worker": stop_worker,
    "freeze worker": freeze_worker,
    "slow network": slow_network,
    "reset connections": reset_connections,
    "black hole": black_hole,
    "half open": half_open,
    "lose answers": lose_answers,
    "set clock": set_clock,
    "kill api": kill_api,
    "kill server": kill_server,
    "crash database": crash_database,
}
#: What happens to one worker may happen while something happens to what all share.
SHARED = {"kill api", "kill server", "crash database"}


async def attack(scene: Scene, kinds: Sequence[str], pause: tuple[float, float]) -> None:
    """These faults in some order, in two lanes: to workers, and to what all of them share."""
    kinds = scene.choice.sample(kinds, len(kinds))

    async def lane(own: list[str]) -> None:
        for kind in own:
            await asyncio.sleep(scene.span(*pause))
            await scene.inflict(kind)

    await asyncio.gather(
        lane([kind for kind in kinds if kind in SHARED]), lane([kind for kind in kinds if kind not in SHARED])
    )
