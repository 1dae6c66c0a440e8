"""torch on the GPU: matmul and a convolution with its gradient, against float64 on the CPU.

Errors are the largest absolute difference over the largest absolute reference. A float32 sum of n products is within
n * 2**-24 of the exact one, relative to the sum of magnitudes; with n = 512 (and 576 in the convolution) 5e-5 leaves
room for no wrong element. TF32 is off, since its 10 bits would need another bound.
"""

import json

import torch

if not torch.cuda.is_available():
    try:
        torch.zeros(1, device="cuda")
        reason = "torch.cuda.is_available() is False"
    except Exception as error:
        reason = str(error)
    print(json.dumps({"error": reason}))
    raise SystemExit

torch.backends.cuda.matmul.allow_tf32 = False
torch.backends.cudnn.allow_tf32 = False
generator = torch.Generator().manual_seed(0)


def off(got: torch.Tensor, want: torch.Tensor) -> float:
    return float((got.cpu().double() - want).abs().max() / want.abs().max())


a = torch.randn(512, 512, generator=generator)
b = torch.randn(512, 512, generator=generator)
product = a.cuda() @ b.cuda()
errors = {"matmul": off(product, a.double() @ b.double())}

image = torch.randn(8, 64, 32, 32, generator=generator)
kernel = torch.randn(64, 64, 3, 3, generator=generator)
image_gpu = image.cuda().requires_grad_()
image_cpu = image.double().requires_grad_()
out_gpu = torch.nn.functional.conv2d(image_gpu, kernel.cuda(), padding=1)
out_cpu = torch.nn.functional.conv2d(image_cpu, kernel.double(), padding=1)
out_gpu.square().sum().backward()
out_cpu.square().sum().backward()
errors["conv2d"] = off(out_gpu.detach(), out_cpu.detach())
errors["conv2d_backward"] = off(image_gpu.grad, image_cpu.grad)
with torch.backends.cudnn.flags(enabled=False):
    plain = torch.nn.functional.conv2d(image.cuda(), kernel.cuda(), padding=1)
errors["conv2d_without_cudnn"] = off(plain, out_cpu.detach())
torch.cuda.synchronize()
bounds = dict.fromkeys(errors, 5e-5)
print(
    json.dumps(
        {
            "device": str(product.device),
            "name": torch.cuda.get_device_name(),
            "cudnn": torch.backends.cudnn.version(),
            "errors": errors,
            "bounds": bounds,
        }
    )
)
