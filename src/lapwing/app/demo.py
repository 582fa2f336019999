"""What exists so far, shown truthfully on made-up data."""


def run() -> None:
    """Print the demonstration."""
    print("lapwing: the ground is laid; mechanisms follow.")
