"""The lock on the door: who may call, what for, how often, and how long a caller may take.

`docs/security.md` tells operators what it holds against; this package is that page in code:

    lock.py         the way in: with keys, or open on loopback
    keys.py         a key, its hash, and the constant-time check
    keyfile.py      where keys are kept
    scopes.py       what a route demands, stated on the route
    caller.py       who calls, and what they may see
    gate.py         a route's gate: caller, rate, scope, in this order, before the body is read
    rates.py        how often, and how many long waits at once
    door.py         what is refused before anybody asks for the caller: names, origins, sizes
    connections.py  how long a client may take on the wire
"""
