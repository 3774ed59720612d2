"""`python -m tollhouse`."""

from tollhouse.command_line import main

if __name__ == "__main__":
    main()
