"""Times launches by device events, without the host's time."""

WAIT_CYCLES = 4_000_000  # that the GPU waits while the host queues launches


def milliseconds(torch, calls):
    """Milliseconds of each of `calls`, which are all queued while the GPU waits."""
    events = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in calls]
    torch.cuda._sleep(WAIT_CYCLES)
    for call, (start, stop) in zip(calls, events):
        start.record()
        call()
        stop.record()
    torch.cuda.synchronize()
    return [start.elapsed_time(stop) for start, stop in events]
