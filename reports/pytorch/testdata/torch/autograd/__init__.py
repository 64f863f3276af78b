class Function:
    pass
