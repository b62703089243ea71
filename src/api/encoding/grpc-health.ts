import type { DescService } from "@bufbuild/protobuf"
import { Code, ConnectError, type ConnectRouter, type HandlerContext } from "@connectrpc/connect"
import { Health, HealthCheckResponse_ServingStatus } from "../../gen/grpc/health/v1/health_pb.ts"
import type { Clock } from "../../kernel/clock.ts"
import { over } from "./stream.ts"

/** What the server knows of its own state. */
export type Condition = {
  readonly isReady: () => boolean
  readonly clock: Clock
}

/** How soon those who watch hear of a change. */
const lookEveryMs = 500

/** Anybody may watch, without a token: so many at a time, and no more. */
const watchersMax = 50

/** The health check of gRPC: of the server, by the empty name, and of each service that it has. */
export function reportHealth(
  router: ConnectRouter,
  services: readonly DescService[],
  { isReady, clock }: Condition,
): void {
  const known = new Set(["", ...services.map(({ typeName }) => typeName)])
  const statusOf = (service: string) => {
    if (!known.has(service)) return HealthCheckResponse_ServingStatus.SERVICE_UNKNOWN
    const { SERVING, NOT_SERVING } = HealthCheckResponse_ServingStatus
    return isReady() ? SERVING : NOT_SERVING
  }
  const turn = () => new Promise<void>((done) => void clock.after(lookEveryMs, done))
  let watchers = 0

  async function* watch({ service }: { readonly service: string }, { signal }: HandlerContext) {
    if (watchers >= watchersMax) {
      throw new ConnectError("too many watch already; ask with Check", Code.ResourceExhausted)
    }
    watchers++
    try {
      const end = over(signal)
      let said: HealthCheckResponse_ServingStatus | undefined
      for (;;) {
        const status = statusOf(service)
        if (status !== said) yield { status }
        said = status
        if ((await Promise.race([turn(), end])) === "over") break
      }
    } finally {
      watchers--
    }
    throw new ConnectError("this server is stopping", Code.Unavailable)
  }

  router.service(Health, {
    check: ({ service }) => {
      const status = statusOf(service)
      if (status === HealthCheckResponse_ServingStatus.SERVICE_UNKNOWN) {
        throw new ConnectError("there is no such service here", Code.NotFound)
      }
      return { status }
    },
    watch,
  })
}
