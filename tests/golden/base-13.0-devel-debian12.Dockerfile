# cubake/cuda:13.0.3-devel-debian12
ARG ROOTFS=cubake/rootfs:debian12
ARG TOOLS=cubake/tools:1

FROM ${TOOLS} AS tools

FROM ${ROOTFS} AS wheels
SHELL ["/bin/bash", "-euo", "pipefail", "-c"]
RUN --mount=type=bind,from=tools,target=/mnt \
    : "packages of the distribution"; \
    if dpkg-query --show python3 > /dev/null 2>&1; then exit 0; fi; \
    export DEBIAN_FRONTEND=noninteractive; \
    echo 'Acquire::Retries "3";' > /etc/apt/apt.conf.d/99cubake; \
    if [ -s /mnt/ca.pem ]; then echo 'Acquire::https::CAInfo "/mnt/ca.pem";' >> /etc/apt/apt.conf.d/99cubake; fi; \
    rm -f /etc/apt/sources.list.d/cuda*; \
    apt-get update; \
    apt-get install -y --no-install-recommends python3; \
    apt-get clean; \
    rm -rf /etc/apt/apt.conf.d/99cubake /var/lib/apt/lists/* /var/log/apt /var/log/dpkg.log /var/log/alternatives.log /var/cache/ldconfig/aux-cache
ARG INDEX_URL=
RUN --mount=type=bind,from=tools,target=/mnt \
    --mount=type=cache,id=cubake-uv,target=/root/.cache \
    : "CUDA 13.0 wheels"; \
    if [ -s /mnt/ca.pem ]; then export SSL_CERT_FILE=/mnt/ca.pem; fi; \
    if [ -n "${INDEX_URL}" ]; then export UV_DEFAULT_INDEX="${INDEX_URL}"; fi; \
    export UV_LINK_MODE=copy UV_CACHE_DIR=/root/.cache/uv UV_HTTP_TIMEOUT=300; \
    /mnt/uv pip install --no-config --no-deps --only-binary :all: --python /usr/bin/python3 --target /wheels \
    nvidia-cublas==13.1.1.3 nvidia-cuda-cccl==13.0.85 nvidia-cuda-crt==13.0.88 nvidia-cuda-culibos==13.0.85 nvidia-cuda-cupti==13.0.85 nvidia-cuda-cuxxfilt==13.0.85 nvidia-cuda-nvcc==13.0.88 nvidia-cuda-nvrtc==13.0.88 nvidia-cuda-opencl==13.0.85 nvidia-cuda-profiler-api==13.0.85 nvidia-cuda-runtime==13.0.96 nvidia-cuda-sanitizer-api==13.0.85 nvidia-cufft==12.0.0.61 nvidia-cufile==1.15.1.6 nvidia-curand==10.4.0.35 nvidia-cusolver==12.0.4.66 nvidia-cusparse==12.6.3.3 nvidia-nccl-cu13==2.30.7 nvidia-npp==13.0.1.2 nvidia-nvfatbin==13.0.85 nvidia-nvjitlink==13.0.88 nvidia-nvjpeg==13.0.1.86 nvidia-nvml-dev==13.0.87 nvidia-nvptxcompiler==13.0.88 nvidia-nvtx==13.0.85 nvidia-nvvm==13.0.88
COPY layout.sh /layout.sh
RUN : "layout"; /bin/bash /layout.sh /wheels /tree 13.0 x86_64 devel

FROM ${ROOTFS}
SHELL ["/bin/bash", "-euo", "pipefail", "-c"]
RUN --mount=type=bind,from=tools,target=/mnt \
    : "packages of the distribution"; \
    if dpkg-query --show g++ libc6-dev make > /dev/null 2>&1; then exit 0; fi; \
    export DEBIAN_FRONTEND=noninteractive; \
    echo 'Acquire::Retries "3";' > /etc/apt/apt.conf.d/99cubake; \
    if [ -s /mnt/ca.pem ]; then echo 'Acquire::https::CAInfo "/mnt/ca.pem";' >> /etc/apt/apt.conf.d/99cubake; fi; \
    rm -f /etc/apt/sources.list.d/cuda*; \
    apt-get update; \
    apt-get install -y --no-install-recommends g++ libc6-dev make; \
    apt-get clean; \
    rm -rf /etc/apt/apt.conf.d/99cubake /var/lib/apt/lists/* /var/log/apt /var/log/dpkg.log /var/log/alternatives.log /var/cache/ldconfig/aux-cache
COPY --from=wheels /tree/ /
RUN ldconfig
ENV PATH="/usr/local/nvidia/bin:/usr/local/cuda/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" \
    LD_LIBRARY_PATH="/usr/local/nvidia/lib:/usr/local/nvidia/lib64" \
    NVIDIA_VISIBLE_DEVICES="all" \
    NVIDIA_DRIVER_CAPABILITIES="compute,utility" \
    NVIDIA_REQUIRE_CUDA="cuda>=13.0 brand=cloudgaming,driver>=535,driver<536 brand=grid,driver>=535,driver<536 brand=nvidia,driver>=535,driver<536 brand=nvidiartx,driver>=535,driver<536 brand=quadro,driver>=535,driver<536 brand=quadrortx,driver>=535,driver<536 brand=tesla,driver>=535,driver<536 brand=unknown,driver>=535,driver<536 brand=vapps,driver>=535,driver<536 brand=vcs,driver>=535,driver<536 brand=vpc,driver>=535,driver<536 brand=vws,driver>=535,driver<536 brand=cloudgaming,driver>=550,driver<551 brand=grid,driver>=550,driver<551 brand=nvidia,driver>=550,driver<551 brand=nvidiartx,driver>=550,driver<551 brand=quadro,driver>=550,driver<551 brand=quadrortx,driver>=550,driver<551 brand=tesla,driver>=550,driver<551 brand=unknown,driver>=550,driver<551 brand=vapps,driver>=550,driver<551 brand=vcs,driver>=550,driver<551 brand=vpc,driver>=550,driver<551 brand=vws,driver>=550,driver<551 brand=cloudgaming,driver>=565,driver<566 brand=grid,driver>=565,driver<566 brand=nvidia,driver>=565,driver<566 brand=nvidiartx,driver>=565,driver<566 brand=quadro,driver>=565,driver<566 brand=quadrortx,driver>=565,driver<566 brand=tesla,driver>=565,driver<566 brand=unknown,driver>=565,driver<566 brand=vapps,driver>=565,driver<566 brand=vcs,driver>=565,driver<566 brand=vpc,driver>=565,driver<566 brand=vws,driver>=565,driver<566 brand=cloudgaming,driver>=570,driver<571 brand=grid,driver>=570,driver<571 brand=nvidia,driver>=570,driver<571 brand=nvidiartx,driver>=570,driver<571 brand=quadro,driver>=570,driver<571 brand=quadrortx,driver>=570,driver<571 brand=tesla,driver>=570,driver<571 brand=unknown,driver>=570,driver<571 brand=vapps,driver>=570,driver<571 brand=vcs,driver>=570,driver<571 brand=vpc,driver>=570,driver<571 brand=vws,driver>=570,driver<571 brand=cloudgaming,driver>=575,driver<576 brand=grid,driver>=575,driver<576 brand=nvidia,driver>=575,driver<576 brand=nvidiartx,driver>=575,driver<576 brand=quadro,driver>=575,driver<576 brand=quadrortx,driver>=575,driver<576 brand=tesla,driver>=575,driver<576 brand=unknown,driver>=575,driver<576 brand=vapps,driver>=575,driver<576 brand=vcs,driver>=575,driver<576 brand=vpc,driver>=575,driver<576 brand=vws,driver>=575,driver<576" \
    CUDA_VERSION="13.0.3" \
    NV_CUDA_CUDART_VERSION="13.0.96" \
    NV_LIBCUBLAS_VERSION="13.1.1.3" \
    NCCL_VERSION="2.30.7"
LABEL io.cubake.base="cubake/cuda:13.0.3-devel-debian12" \
      io.cubake.cuda="13.0.3"
CMD ["/bin/bash"]
