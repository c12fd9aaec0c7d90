# test/kube/proxy.py - a way to the API server that is slow, breaks or falls silent.
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
        self.frozen = False       # Nothing is carried any more, and nobody is told.
        self.connections = 0
        self.loop = asyncio.new_event_loop()
        self.writers = set()
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
        left = [self.random.randrange(self.cut_after) if self.cut_after else None]
        await asyncio.gather(*(self._carry(one, other, left) for one, other in [(reader, there_writer), (there_reader, writer)]))
        for one in ends:
            one.transport.abort()
        self.writers -= ends

    async def _carry(self, reader, writer, left):
        """Both ways of a connection share what is left of it."""
        due = 0.0  # When the last piece that is late arrives; none may overtake it.
        try:
            while piece := await reader.read(self.random.choice([1, 100, 4096, 65536])):
                if self.delay:
                    await asyncio.sleep(self.random.uniform(0, self.delay))
                while self.frozen:
                    await asyncio.sleep(0.02)
                    if writer.transport.is_closing() or reader.at_eof():
                        break
                if self.latency or due > self.loop.time():
                    due = max(due + EARLIEST_NEXT, self.loop.time() + self.latency)
                    self.loop.call_at(due, self._late, writer, piece)
                    continue
                if left[0] is not None:
                    piece, left[0] = piece[:max(0, left[0])], left[0] - len(piece)
                writer.write(piece)
                await writer.drain()
                if left[0] is not None and left[0] <= 0:
                    break
        except OSError:
            pass
        writer.transport.abort() if left[0] is not None else writer.close()

    @staticmethod
    def _late(writer, piece) -> None:
        if not writer.transport.is_closing():
            writer.write(piece)

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
