"""`python -m tollhouse`."""

from tollhouse.instance.cli.main import main

if __name__ == "__main__":
    main()
