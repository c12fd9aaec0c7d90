# test/kube/proxy.py - a way to the API server that is slow, breaks, falls silent, or delivers late what nobody waits for any more.
import asyncio
import random
import threading

EARLIEST_NEXT = 1e-4  # Seconds between late pieces: timers of one moment come in any order.


class Proxy:
    """Carries bytes to the server on a thread of its own, as badly as `manners` says."""

    def __init__(self, port: int, seed: int):
        self.to, self.random = port, random.Random(seed)
        self.cut_after = None     # Bytes, at most: each connection is cut somewhere before.
        self.delay = 0.0          # Seconds, at most, before each piece.
        self.latency = 0.0        # Seconds by which every piece comes later; those behind it do not wait for it.
        self.spread = 0.0         # Seconds, at most, by which what clients say comes later, for each connection its own.
        self.lingering = 0.0      # Seconds for which a connection that is cut goes on towards the server: see _linger.
        self.delivered_late = 0   # Pieces that came to the server from connections that were cut.
        self.frozen = False       # Nothing is carried any more, and nobody is told.
        self.connections = 0
        self.loop = asyncio.new_event_loop()
        self.writers = set()
        self.clients = set()      # Those of the writers that go to clients.
        self.server = self.loop.run_until_complete(asyncio.start_server(self._serve, "127.0.0.1", 0))
        self.port = self.server.sockets[0].getsockname()[1]
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()

    async def _serve(self, reader, writer):
        self.connections += 1
        try:
            there_reader, there_writer = await asyncio.open_connection("127.0.0.1", self.to)
        except OSError:
            writer.transport.abort()
            return
        ends = {writer, there_writer}
        self.writers |= ends
        self.clients.add(writer)
        left = [self.random.randrange(self.cut_after) if self.cut_after else None]
        late = self.random.uniform(0, self.spread)
        if self.lingering:
            await self._linger(reader, writer, there_reader, there_writer, left, late)
        else:
            await asyncio.gather(self._carry(reader, there_writer, left, late), self._carry(there_reader, writer, left, 0.0))
        for one in ends:
            one.transport.abort()
        self.writers -= ends
        self.clients.discard(writer)

    async def _linger(self, reader, writer, there_reader, there_writer, left, late):
        """When the connection is cut, the client hears of it at once, and says all anew over another one. What it had said before
        still comes to the server, beside or after that: in another order, and twice. What the server answers, nobody hears."""
        ways = [asyncio.create_task(self._carry(reader, there_writer, left, late, self.lingering)),
                asyncio.create_task(self._carry(there_reader, writer, left, 0.0))]
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        writer.transport.abort()
        ways.append(asyncio.create_task(self._throw_away(ways[1], there_reader)))
        await asyncio.sleep(self.lingering + late)
        there_writer.transport.abort()
        await asyncio.gather(*ways)

    @staticmethod
    async def _throw_away(before, reader):
        await before  # Only one may read.
        try:
            while await reader.read(65536):
                pass
        except OSError:
            pass

    async def _carry(self, reader, writer, left, late, lingering=0.0):
        """Both ways of a connection share what is left of it; with `lingering` its last piece comes, whole, so much later."""
        due = 0.0  # When the last piece that is late arrives; none may overtake it.
        try:
            while piece := await reader.read(self.random.choice([1, 100, 4096, 65536])):
                if self.delay:
                    await asyncio.sleep(self.random.uniform(0, self.delay))
                while self.frozen:
                    await asyncio.sleep(0.02)
                    if writer.transport.is_closing() or reader.at_eof():
                        break
                behind = self.latency + late
                if left[0] is not None and lingering:
                    left[0] -= len(piece)
                    behind += self.random.uniform(0, lingering) if left[0] <= 0 else 0.0
                if behind or due > self.loop.time():
                    due = max(due + EARLIEST_NEXT, self.loop.time() + behind)
                    self.loop.call_at(due, self._late, writer, piece, reader if lingering else None)
                    if left[0] is not None and left[0] <= 0:
                        break
                    continue
                if left[0] is not None and not lingering:
                    piece, left[0] = piece[:max(0, left[0])], left[0] - len(piece)
                writer.write(piece)
                await writer.drain()
                if left[0] is not None and left[0] <= 0:
                    break
        except OSError:
            pass
        if not lingering:
            writer.transport.abort() if left[0] is not None else writer.close()

    def _late(self, writer, piece, reader) -> None:
        if writer.transport.is_closing():
            return
        self.delivered_late += reader is not None and (reader.at_eof() or reader.exception() is not None)
        writer.write(piece)

    def cut_clients(self) -> None:
        """The clients' ends only."""
        for writer in list(self.clients):
            self.loop.call_soon_threadsafe(writer.transport.abort)

    def cut_all(self) -> None:
        for writer in list(self.writers):
            self.loop.call_soon_threadsafe(writer.transport.abort)

    def stop(self) -> None:
        async def end():
            self.server.close()
            for writer in list(self.writers):
                writer.transport.abort()
            others = asyncio.all_tasks() - {asyncio.current_task()}
            await asyncio.wait(others, timeout=5) if others else None
        asyncio.run_coroutine_threadsafe(end(), self.loop).result(timeout=10)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(timeout=10)
