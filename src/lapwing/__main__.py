"""`python -m lapwing` is `lapwing`."""

from lapwing.app.cli import main

if __name__ == "__main__":
    main(prog_name="lapwing")
