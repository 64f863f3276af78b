class ModelNew(nn.Module):
    """As PyTorch's scaled_dot_product_attention, without dropout. What a call leaves out is as tuned."""

    def __init__(self):
        super().__init__()
        self.settings = settings()

    def forward(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        attn_mask: torch.Tensor | None = None,
        dropout_p: float = 0.0,
        is_causal: bool = None,
        scale: float = None,
        enable_gqa: bool = None,
    ) -> torch.Tensor:
        need(dropout_p == 0, f"dropout_p is {dropout_p}; the kernels drop nothing")
        q, k, v = (t.reshape(-1, *t.shape[-3:]) if t.dim() > 3 else t.unsqueeze(0) if t.dim() == 3 else t for t in (query, key, value))
        need(q.dim() == k.dim() == v.dim() == 4, "query, key and value have three dimensions at least: heads, rows and the width")
        need(enable_gqa is not False or k.size(1) == q.size(1), f"{k.size(1)} heads of keys for {q.size(1)} of queries need enable_gqa")
        causal = int(bool(self.settings["causal"]) and attn_mask is None if is_causal is None else is_causal)
        s = {**self.settings, "causal": causal, "width_v": v.size(-1), "heads_kv": k.size(1), "gqa": int(k.size(1) != q.size(1)), "scale": scale_of(q.size(-1), scale)}
        mask = None if attn_mask is None else added(attn_mask, query.shape[:-3], q, k.size(2))
        s["mask_batch"], s["mask_heads"] = (0, 0) if mask is None else mask.shape[:2]
        return run(s, q, k, v, mask).view(*query.shape[:-1], v.size(-1))


def scale_of(width, scale):
    """The scale, the tuned one where it is meant: powers differ in the last digit."""
    usual = width**-0.5 if scale is None else scale
    tuned = TUNED["scale"]
    return tuned if scale is None and width == TUNED["width"] or abs(usual - tuned) <= 1e-12 * abs(tuned) else float(usual)


def added(mask, batches, q, keys):
    """A mask as it is added to products: of each batch or of all, and so of heads."""
    if mask.dtype is torch.bool:
        mask = q.new_zeros(mask.shape).masked_fill(~mask, float("-inf"))
    mask = mask[(None,) * (4 - mask.dim())] if mask.dim() < 5 else mask.expand(*batches, *mask.shape[-3:]).flatten(0, -4)
    return mask.expand(*mask.shape[:2], q.size(2), keys)


def get_inputs():
    batch, heads, queries, keys, width = (TUNED[name] for name in ("batch", "heads", "queries", "keys", "width"))
    kv = batch, TUNED["heads_kv"], keys
    shapes = [(batch, heads, queries, width), (*kv, width), (*kv, TUNED["width_v"])]
    if TUNED["mask_batch"]:
        shapes.append((TUNED["mask_batch"], TUNED["mask_heads"], queries, keys))
    return [torch.rand(*shape, dtype=DTYPE) for shape in shapes]


def get_init_inputs():
    return []
