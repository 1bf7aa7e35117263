/** The documents that runpod-python sends for Pods, templates and endpoints: no variables, every value is written into the document. */
import { expect, test } from "vitest";
import { refused, told } from "../../../tests/graphql-calls.ts";
import { setupPods, TWO_GPUS } from "../../../tests/pod-world.ts";

const POD_FIELDS = `
  id
  containerDiskInGb
  costPerHr
  desiredStatus
  dockerArgs
  dockerId
  env
  gpuCount
  imageName
  lastStatusChange
  machineId
  memoryInGb
  name
  podType
  port
  ports
  uptimeSeconds
  vcpuCount
  volumeInGb
  volumeMountPath
  runtime {
    ports{
      ip
      isIpPublic
      privatePort
      publicPort
      type
    }
  }
  machine {
    gpuDisplayName
  }`;

const CREATE_GPU_POD = `
  mutation {
    podFindAndDeployOnDemand(
      input: {
        name: "trainer", imageName: "host:/app", cloudType: ALL, startSsh: true, gpuTypeId: "NVIDIA A40", supportPublicIp: true,
        gpuCount: 1, volumeInGb: 0, containerDiskInGb: 10, minVcpuCount: 1, minMemoryInGb: 1, dataCenterId: null,
        dockerArgs: "bash -c \\"echo 'hello'\\"", ports: "22/tcp,8888/http", volumeMountPath: "/runpod-volume",
        env: [{ key: "A", value: "1" }, { key: "B", value: "two words" }], allowedCudaVersions: [ "12.8", "12.4" ]
      }
    ) {
      id
      imageName
      env
      machineId
      machine {
        podHostId
      }
    }
  }`;

const pod = (id: string) => `
  query pod {
    pod(input: {podId: "${id}"}) {${POD_FIELDS}
    }
  }`;

test("a GPU Pod is made, found, stopped, resumed and terminated", async () => {
  await using world = await setupPods({ machine: TWO_GPUS });
  const { podFindAndDeployOnDemand: made } = await told(world, CREATE_GPU_POD);
  expect(made).toEqual({
    id: expect.stringMatching(/^[a-z0-9]{14}$/),
    imageName: "host:/app",
    env: ["A=1", "B=two words"],
    machineId: expect.stringMatching(/./),
    machine: { podHostId: expect.stringMatching(new RegExp(`^${made.id}-[0-9a-f]{8}$`)) },
  });

  const starting = (await told(world, pod(made.id))).pod;
  expect(starting).toMatchObject({ desiredStatus: "RUNNING", machineId: made.machineId });
  await world.settle();

  const { pod: found } = await told(world, pod(made.id));
  expect(found).toEqual({
    id: made.id,
    containerDiskInGb: 10,
    costPerHr: expect.any(Number),
    desiredStatus: "RUNNING",
    dockerArgs: `bash -c "echo 'hello'"`,
    dockerId: null,
    env: made.env,
    gpuCount: 1,
    imageName: "host:/app",
    lastStatusChange: expect.any(String),
    machineId: made.machineId,
    memoryInGb: expect.any(Number),
    name: "trainer",
    podType: "RESERVED",
    port: null,
    ports: "22/tcp,8888/http",
    uptimeSeconds: 0,
    vcpuCount: expect.any(Number),
    volumeInGb: 0,
    volumeMountPath: "/runpod-volume",
    runtime: {
      ports: [
        { ip: "203.0.113.5", isIpPublic: true, privatePort: 22, publicPort: expect.any(Number), type: "tcp" },
        { ip: expect.any(String), isIpPublic: false, privatePort: 8888, publicPort: expect.any(Number), type: "http" },
      ],
    },
    machine: { gpuDisplayName: "A40" },
  });
  expect((await told(world, `query myPods { myself { pods {${POD_FIELDS}} } }`)).myself.pods).toEqual([found]);

  const stop = `mutation { podStop(input: { podId: "${made.id}" }) { id desiredStatus } }`;
  expect(await told(world, stop)).toEqual({ podStop: { id: made.id, desiredStatus: "EXITED" } });
  const resume = `
    mutation { podResume(input: { podId: "${made.id}", gpuCount: 1 }) {
      id desiredStatus imageName env machineId machine { podHostId }
    } }`;
  expect((await told(world, resume)).podResume).toEqual({
    ...made,
    desiredStatus: "RUNNING",
    machine: { podHostId: expect.any(String) },
  });

  const terminate = `mutation { podTerminate(input: { podId: "${made.id}" }) }`;
  expect(await told(world, terminate)).toEqual({ podTerminate: null });
  expect((await told(world, pod(made.id))).pod).toBeNull();
  expect(await refused(world, terminate)).toMatchObject({
    message: "pod not found to terminate",
    extensions: { code: "POD_NOT_FOUND" },
  });
});

test("an account without Pods and endpoints has lists of none", async () => {
  await using world = await setupPods();
  expect(await told(world, "query { myself { pods { id } endpoints { id } podTemplates { id } } }")).toEqual({
    myself: { pods: [], endpoints: [], podTemplates: [] },
  });
});

test("a CPU Pod is made from the template that the client names by default", async () => {
  await using world = await setupPods();
  const { deployCpuPod: made } = await told(
    world,
    `mutation {
      deployCpuPod(
        input: {
          name: "small", imageName: "", cloudType: SECURE, startSsh: true, instanceId: "cpu3c-2-4", templateId: "runpod-ubuntu",
          dockerArgs: "", containerDiskInGb: 10, volumeMountPath: "/runpod-volume"
        }
      ) { id imageName env machineId machine { podHostId } }
    }`,
  );
  expect(made).toMatchObject({ imageName: "ubuntu:24.04", env: [], machineId: expect.any(String) });
});

test("create_pod with a name and an image alone makes a CPU Pod of the cheapest flavor", async () => {
  await using world = await setupPods();
  const { deployCpuPod: made } = await told(
    world,
    `mutation {
      deployCpuPod(
        input: { name: "small", imageName: "host:/app", cloudType: ALL, startSsh: true, templateId: "runpod-ubuntu", ports: "" }
      ) { id imageName env machineId machine { podHostId } }
    }`,
  );
  expect(await world.pod(made.id)).toMatchObject({ cpu: { id: "cpu3c", vcpuCount: 2, memory: 4 } });
});

test("a template and an endpoint that follows it", async () => {
  await using world = await setupPods();
  const save = (name: string) => `
    mutation {
      saveTemplate(
        input: {
          name: "${name}", imageName: "registry.test/handler:1", dockerArgs: "python -u \\"handler.py\\"", containerDiskInGb: 10,
          volumeInGb: 0, ports: "", env: [{ key: "MODEL", value: "small" }], isServerless: true, containerRegistryAuthId : "",
          startSsh: true, isPublic: false, readme: ""
        }
      ) {
        id name imageName dockerArgs containerDiskInGb volumeInGb volumeMountPath ports env { key value } isServerless
      }
    }`;
  const { saveTemplate: template } = await told(world, save("handler"));
  expect(template).toMatchObject({
    name: "handler",
    imageName: "registry.test/handler:1",
    dockerArgs: 'python -u "handler.py"',
    containerDiskInGb: 10,
    volumeInGb: 0,
    ports: "",
    env: [{ key: "MODEL", value: "small" }],
    isServerless: true,
  });
  const { saveEndpoint: endpoint } = await told(
    world,
    `mutation {
      saveEndpoint(
        input: {
          flashBootType: FLASHBOOT, name: "eager", templateId: "${template.id}", gpuIds: "AMPERE_16", networkVolumeId: "",
          locations: "", idleTimeout: 5, scalerType: "QUEUE_DELAY", scalerValue: 4, workersMin: 0, workersMax: 3,
          allowedCudaVersions: "12.4,12.8", gpuCount: 1
        }
      ) {
        id name templateId gpuIds networkVolumeId locations idleTimeout scalerType scalerValue workersMin workersMax
        allowedCudaVersions gpuCount flashBootType
      }
    }`,
  );
  expect(endpoint).toEqual({
    id: expect.stringMatching(/^[a-z0-9]{14}$/),
    name: "eager",
    templateId: template.id,
    gpuIds: "AMPERE_16",
    networkVolumeId: null,
    locations: "",
    idleTimeout: 5,
    scalerType: "QUEUE_DELAY",
    scalerValue: 4,
    workersMin: 0,
    workersMax: 3,
    allowedCudaVersions: "12.4,12.8",
    gpuCount: 1,
    flashBootType: "FLASHBOOT",
  });

  const { saveTemplate: other } = await told(world, save("other"));
  const update = `
    mutation { updateEndpointTemplate(input: { templateId: "${other.id}", endpointId: "${endpoint.id}" }) { id templateId } }`;
  expect((await told(world, update)).updateEndpointTemplate).toEqual({ id: endpoint.id, templateId: other.id });

  const { myself } = await told(
    world,
    `query Query {
      myself { endpoints {
        aiKey gpuIds id idleTimeout name networkVolumeId locations scalerType scalerValue templateId type userId version workersMax
        workersMin workersStandby gpuCount env { key value } createdAt networkVolume { id dataCenterId }
      } }
    }`,
  );
  expect(myself.endpoints).toEqual([
    expect.objectContaining({
      id: endpoint.id,
      templateId: other.id,
      type: "QB",
      env: [{ key: "MODEL", value: "small" }],
      createdAt: expect.any(String),
      networkVolume: null,
    }),
  ]);
});

test("the newer client of apps says its inputs in variables, of types that may be null or must not", async () => {
  await using world = await setupPods({ machine: TWO_GPUS });
  const gpu = `mutation DeployGpu($input: PodFindAndDeployOnDemandInput) { podFindAndDeployOnDemand(input: $input) { id } }`;
  const onGpu = { name: "gpu", imageName: "host:/app", gpuTypeId: "NVIDIA A40", gpuCount: 1, ports: "22/tcp", env: [] };
  const { id } = (await told(world, gpu, { input: onGpu })).podFindAndDeployOnDemand;
  const cpu = `mutation DeployCpu($input: deployCpuPodInput!) { deployCpuPod(input: $input) { id machineId } }`;
  const onCpu = { name: "cpu", imageName: "host:/app", instanceId: "cpu5c-2-4", containerDiskInGb: 10 };
  expect((await told(world, cpu, { input: onCpu })).deployCpuPod.machineId).not.toBe("");
  const end = `mutation End($input: PodTerminateInput!) { podTerminate(input: $input) }`;
  expect(await told(world, end, { input: { podId: id } })).toEqual({ podTerminate: null });
  const body = { name: "e", image: "busybox", cpu: [{ id: "cpu3c", vcpuCount: 2 }], env: { A: "b" } };
  await world.call("POST", "/v2/serverless", { body });
  expect((await told(world, "{ myself { endpoints { template { env { key value } } } } }")).myself.endpoints).toEqual([
    { template: { env: [{ key: "A", value: "b" }] } },
  ]);
});
