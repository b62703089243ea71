import type { DescService } from "@bufbuild/protobuf"
import { Code, ConnectError, type ConnectRouter, type HandlerContext } from "@connectrpc/connect"
import { Health, HealthCheckResponse_ServingStatus } from "../../gen/grpc/health/v1/health_pb.ts"
import type { Clock } from "../../kernel/clock.ts"
import { waitForAbort } from "./stream.ts"

/** The readiness of the server and the clock for polling it. */
export type HealthSource = {
  readonly isReady: () => boolean
  readonly clock: Clock
}

/** How often watchers are checked for a change. */
const pollIntervalMs = 500

/** The maximum number of watchers, because watching requires no token. */
const watchersMax = 50

/** The gRPC health check: of the server, under the empty name, and of each service. */
export function registerHealth(
  router: ConnectRouter,
  services: readonly DescService[],
  { isReady, clock }: HealthSource,
): void {
  const known = new Set(["", ...services.map(({ typeName }) => typeName)])
  const statusOf = (service: string) => {
    if (!known.has(service)) return HealthCheckResponse_ServingStatus.SERVICE_UNKNOWN
    const { SERVING, NOT_SERVING } = HealthCheckResponse_ServingStatus
    return isReady() ? SERVING : NOT_SERVING
  }
  const nextPoll = () => new Promise<void>((done) => void clock.after(pollIntervalMs, done))
  let watchers = 0

  async function* watch({ service }: { readonly service: string }, { signal }: HandlerContext) {
    if (watchers >= watchersMax) {
      throw new ConnectError("too many watchers; call Check instead", Code.ResourceExhausted)
    }
    watchers++
    try {
      const end = waitForAbort(signal)
      let lastStatus: HealthCheckResponse_ServingStatus | undefined
      for (;;) {
        const status = statusOf(service)
        if (status !== lastStatus) yield { status }
        lastStatus = status
        if ((await Promise.race([nextPoll(), end])) === "over") break
      }
    } finally {
      watchers--
    }
    throw new ConnectError("the server is stopping", Code.Unavailable)
  }

  router.service(Health, {
    check: ({ service }) => {
      const status = statusOf(service)
      if (status === HealthCheckResponse_ServingStatus.SERVICE_UNKNOWN) {
        throw new ConnectError("service not found", Code.NotFound)
      }
      return { status }
    },
    watch,
  })
}
