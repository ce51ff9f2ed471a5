"""A fleet of processes that start at once and want compiled programs: machines with a disk cache,
processes with circuit breakers, servers with a queue, a network card and a bound on connections.
A simulation of discrete events; the same parameters and seed give the same events.

The clients are those of runtime/remote: a server that fails or refuses is left alone for a while
(breaker.h), a machine with NVRTC compiles what is missing and gives it to the server, one without
asks the server to compile, and comes back when it is told to. The keys of a store are divided among
its shards by rendezvous hashing; the next best shard is asked where the best is left alone.
"""
import dataclasses
import hashlib
import heapq
import random


@dataclasses.dataclass(frozen=True)
class Parameters:
    """Times are in seconds, sizes in bytes."""
    machines: int = 1250
    processes_per_machine: int = 8
    shares_disk: bool = True  # the processes of a machine have one disk cache
    common_keys: int = 8  # that every process wants, first
    own_keys: int = 32  # that it draws from the rest
    compile_seconds: tuple = (1.0,) * 200  # by key: how many there are, and what each one costs
    entry_bytes: tuple = (40000,) * 200
    has_nvrtc: bool = True
    disk_seconds: float = 0.001  # a program out of the disk cache
    round_trip: float = 0.0005
    # Servers; none: each machine is on its own.
    shards: int = 1
    dead_shards: int = 0
    warm: bool = False  # they have every entry before the start
    server_cores: int = 16
    server_workers: int = 16  # that compile
    server_queue: int = 64  # compilations that may wait
    get_seconds: float = 0.0001  # of a core
    put_seconds: float = 0.002
    handshake_seconds: float = 0.001  # a new connection, with TLS
    card_bytes_per_second: float = 1.25e9
    max_connections: int = 1024
    idle_seconds: float = 60.0  # after which a connection is closed (--client-seconds)
    retry_after: float = 2.0
    # Clients.
    connect_timeout: float = 0.1
    breaker_first: float = 10.0
    breaker_longest: float = 300.0
    longest_compilation: float = 180.0  # that somebody waits for a server
    compile_connect_timeout: float = 2.0  # of somebody who needs the server; he tries twice

    def processes(self):
        return self.machines * self.processes_per_machine

    def keys(self):
        return len(self.compile_seconds)


class Flight:
    """What several processes wait for."""

    def __init__(self):
        self.waiting = []


LANDED = Flight()
LANDED.waiting = None


class Clock:
    """Calls functions, and runs generators: what they yield is how long they sleep, or a Flight
    that they wait for."""

    def __init__(self):
        self.now, self.events, self.count = 0.0, [], 0

    def start(self, routine, after=0.0):
        self.count += 1  # equal times in the order of their making
        heapq.heappush(self.events, (self.now + after, self.count, routine))

    def land(self, flight):
        for routine in flight.waiting:
            self.start(routine)
        flight.waiting = None

    def run(self):
        while self.events:
            self.now, _, routine = heapq.heappop(self.events)
            if callable(routine):
                routine()
                continue
            wish = next(routine, None)
            if isinstance(wish, Flight):
                if wish.waiting is None:
                    self.start(routine)
                else:
                    wish.waiting.append(routine)
            elif wish is not None:
                self.start(routine, wish)


class Shard:
    """A server: first come, first served by its cores, then by its network card."""

    def __init__(self, clock, parameters, number):
        self.clock, self.parameters, self.number = clock, parameters, number
        self.is_dead = number < parameters.dead_shards
        self.entries = set(range(parameters.keys())) if parameters.warm else set()
        self.cores = [0.0] * parameters.server_cores  # when each one is free
        self.workers = [0.0] * parameters.server_workers
        self.card_free = 0.0
        self.compiling = {}  # flights by key
        self.connections, self.most_connections = 0, 0
        self.requests, self.refused, self.compiled, self.sent = 0, 0, 0, 0
        self.by_second = {}

    def arrived(self):
        self.requests += 1
        second = int(self.clock.now)
        self.by_second[second] = self.by_second.get(second, 0) + 1

    def work(self, seconds, size=0):
        """How long somebody who comes now waits for `seconds` of a core, then for `size` bytes."""
        now = self.clock.now
        begins = max(now, heapq.heappop(self.cores))
        done = begins + seconds
        heapq.heappush(self.cores, done)
        if size:
            seconds = size / self.parameters.card_bytes_per_second
            self.card_free = done = max(done, self.card_free) + seconds
            self.sent += size
        return done - now

    def compilation(self, key):
        """A flight that lands when the key is compiled; None: the queue is full."""
        if key in self.entries:
            return LANDED
        if flight := self.compiling.get(key):
            return flight
        running = sum(free > self.clock.now for free in self.workers)
        if len(self.compiling) - running >= self.parameters.server_queue:
            return None
        flight = self.compiling[key] = Flight()
        begins = max(self.clock.now, heapq.heappop(self.workers))
        done = begins + self.parameters.compile_seconds[key]
        heapq.heappush(self.workers, done)
        self.clock.start(lambda: self.finish(key), done - self.clock.now)
        return flight

    def finish(self, key):
        self.entries.add(key)
        self.compiled += 1
        self.clock.land(self.compiling.pop(key))


class Breaker:
    def __init__(self, parameters):
        self.parameters = parameters
        self.wait, self.opens_at = 0.0, 0.0

    def failed(self, now):
        self.wait = (min(2 * self.wait, self.parameters.breaker_longest) or
                     self.parameters.breaker_first)
        self.opens_at = now + self.wait


class Link:
    """What a process knows of a shard: its connection, and a breaker for entries and one for
    compilations."""

    def __init__(self, parameters):
        self.breaker, self.compiling = Breaker(parameters), Breaker(parameters)
        self.connected, self.uses = False, 0


class Process:
    def __init__(self, fleet, cache, wanted, seed):
        self.fleet, self.cache, self.wanted = fleet, cache, wanted
        self.random = random.Random(seed)
        self.links = [Link(fleet.parameters) for _ in fleet.shards]

    def life(self):
        for key in self.wanted:
            yield from self.obtain(key)
        self.fleet.ready.append(self.fleet.clock.now)

    def obtain(self, key):
        """A process of the machine makes the entry, the others wait for it."""
        flight = self.cache.get(key)
        if flight is None:
            flight = self.cache[key] = Flight()
            yield from self.make(key)
            self.fleet.clock.land(flight)
            return
        if flight.waiting is not None:
            yield flight
        self.fleet.disk_hits += 1
        yield self.fleet.parameters.disk_seconds

    def make(self, key):
        answering = None
        for shard in self.fleet.order(key):
            if not self.allows(shard):
                continue
            answer = yield from self.get(shard, key)
            if answer == "hit":
                self.fleet.remote_hits += 1
                return
            if answer == "miss":
                answering = shard
                break
        if not self.fleet.parameters.has_nvrtc and self.fleet.shards:
            yield from self.ask_until_compiled(key)
            return
        yield self.fleet.parameters.compile_seconds[key]
        self.fleet.compiled_by_machines += 1
        if answering and self.allows(answering):
            yield from self.put(answering, key)

    # --- requests ---------------------------------------------------------------------------

    def allows(self, shard):
        return self.fleet.clock.now >= self.links[shard.number].breaker.opens_at

    def failed(self, shard):
        self.links[shard.number].breaker.failed(self.fleet.clock.now)
        self.fleet.failures += 1

    def connect(self, shard):
        """Whether there is a connection now, after the time that it takes. Whoever gets one gives
        it back with `release`."""
        link, parameters = self.links[shard.number], self.fleet.parameters
        link.uses += 1
        if link.connected:
            return True
        if shard.is_dead:
            yield parameters.connect_timeout
            return False
        yield parameters.round_trip
        shard.arrived()
        if shard.connections >= parameters.max_connections:
            shard.refused += 1
            return False
        shard.connections += 1
        shard.most_connections = max(shard.most_connections, shard.connections)
        link.connected = True
        yield shard.work(parameters.handshake_seconds)
        return True

    def release(self, shard):
        link = self.links[shard.number]
        uses = link.uses

        def close_idle():
            if link.connected and link.uses == uses:
                link.connected = False
                shard.connections -= 1

        self.fleet.clock.start(close_idle, self.fleet.parameters.idle_seconds)

    def exchange(self, shard, seconds, size):
        yield self.fleet.parameters.round_trip
        shard.arrived()
        yield shard.work(seconds, size)
        self.links[shard.number].breaker.wait = 0.0

    def get(self, shard, key):
        """"hit", "miss" or "failed"."""
        parameters = self.fleet.parameters
        if not (yield from self.connect(shard)):
            self.failed(shard)
            return "failed"
        has = key in shard.entries
        size = parameters.entry_bytes[key] if has else 0
        yield from self.exchange(shard, parameters.get_seconds, size)
        self.release(shard)
        return "hit" if has else "miss"

    def put(self, shard, key):
        if not (yield from self.connect(shard)):
            self.failed(shard)
            return
        parameters = self.fleet.parameters
        yield from self.exchange(shard, parameters.put_seconds, parameters.entry_bytes[key])
        shard.entries.add(key)
        self.release(shard)

    def ask_until_compiled(self, key):
        """A process that cannot compile asks the servers in their order until one has done it."""
        clock, parameters = self.fleet.clock, self.fleet.parameters
        deadline = clock.now + parameters.longest_compilation
        for shard in self.fleet.order(key):
            compiling = self.links[shard.number].compiling
            if clock.now < compiling.opens_at:
                continue
            if shard.is_dead:
                yield 2 * parameters.compile_connect_timeout + 1.0
                compiling.failed(clock.now)
                continue
            while clock.now < deadline:
                if (yield from self.connect(shard)):
                    yield from self.exchange(shard, parameters.get_seconds, 0)
                    if flight := shard.compilation(key):
                        yield flight
                        yield shard.work(parameters.get_seconds, parameters.entry_bytes[key])
                        self.release(shard)
                        self.fleet.remote_hits += 1
                        return
                    shard.refused += 1
                    self.release(shard)
                yield parameters.retry_after * self.random.uniform(0.75, 1.25)
        self.fleet.without += 1


class Fleet:
    def __init__(self, parameters, seed):
        self.parameters = parameters
        self.clock = Clock()
        self.shards = [Shard(self.clock, parameters, n) for n in range(parameters.shards)]
        self.orders = {}
        self.ready = []
        self.disk_hits = self.remote_hits = self.compiled_by_machines = 0
        self.failures = self.without = 0
        draw = random.Random(seed)
        rest = range(parameters.common_keys, parameters.keys())
        cache = {}
        for number in range(parameters.processes()):
            if number % parameters.processes_per_machine == 0 or not parameters.shares_disk:
                cache = {}
            wanted = [*range(parameters.common_keys), *draw.sample(rest, parameters.own_keys)]
            self.clock.start(Process(self, cache, wanted, draw.random()).life())

    def order(self, key):
        """The shards, best first, by a hash of shard and key: where one is lost, only its keys
        move."""
        if key not in self.orders:
            self.orders[key] = sorted(self.shards, key=lambda shard: hashlib.sha256(
                b"%d:%d" % (shard.number, key)).digest())
        return self.orders[key]


def simulate(parameters, seed=1):
    """What happened, as a dict."""
    fleet = Fleet(parameters, seed)
    fleet.clock.run()
    ready = sorted(fleet.ready)
    by_servers = sum(shard.compiled for shard in fleet.shards)
    return {
        "ready": len(ready), "without_a_program": fleet.without,
        "seconds_until_ready": {name: round(ready[(len(ready) * per_mille - 1) // 1000], 3)
                                for name, per_mille in
                                (("50%", 500), ("99%", 990), ("all", 1000))},
        "compilations": by_servers + fleet.compiled_by_machines,
        "compilations_by_servers": by_servers,
        "from_disk": fleet.disk_hits, "from_servers": fleet.remote_hits,
        "servers_left_alone": fleet.failures,
        "shards": [{"requests": shard.requests, "refused": shard.refused, "bytes": shard.sent,
                    "most_connections": shard.most_connections,
                    "peak_requests_per_second": max(shard.by_second.values(), default=0)}
                   for shard in fleet.shards],
    }
