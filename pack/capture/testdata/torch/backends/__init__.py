class cudnn:
    allow_tf32 = True


class cuda:
    class matmul:
        allow_tf32 = False
