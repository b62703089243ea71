// The whole API in this process, on both listeners, with a table of callers in front; tokens are
// tested elsewhere.

import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { Logger } from "@logtape/logtape"
import { createEntries, type Hooks } from "../../src/api/dispatch.ts"
import { grpcServer } from "../../src/api/encoding/grpc.ts"
import type { Operation } from "../../src/api/method.ts"
import { createApiHandler } from "../../src/api/routes.ts"
import { claimFolder } from "../../src/boot/folder/claim.ts"
import { readConfig } from "../../src/boot/settings.ts"
import { firstInstance, setUp } from "../../src/domain/setup/index.ts"
import { targetCallsOf } from "../../src/domain/target/index.ts"
import { systemClock } from "../../src/kernel/clock.ts"
import { systemRandom } from "../../src/kernel/crypto/random.ts"
import { loadOnce } from "../../src/kernel/lazy.ts"
import type { Outside } from "../../src/kernel/port/outbound.ts"
import { createAnonymousCall } from "../../src/server/caller.ts"
import { authority, loadOperations } from "../../src/server/modules.ts"
import { openServices } from "../../src/server/services.ts"
import type { Cx } from "../../src/store/index.ts"
import { temporaryFolder } from "../support/latchkey.ts"
import { unreachableOutside } from "../support/outside.ts"

export const host = "id.example.com"

export type TestServer = {
  readonly url: string
  /** Every call must have these. */
  readonly headers: Readonly<Record<string, string>>
  /** Its data directory. */
  readonly path: string
  readonly grpcPort: number
  readonly ownerId: string
  readonly orgId: string
  /** Clears the recorded calls. */
  readonly forget: () => Promise<void>
  /** The types of the events that the last call wrote. */
  readonly written: () => Promise<readonly string[]>
  /** A call by the process itself, bypassing the API. */
  readonly within: () => Cx
  readonly close: () => Promise<void>
}

/** The files of a data directory that is set up, and its owner. */
type InstanceTemplate = {
  readonly files: readonly { readonly name: string; readonly bytes: Uint8Array }[]
  readonly ownerId: string
  readonly orgId: string
}

/** Setting up an instance takes three times as long as opening a copy of one. */
const instanceTemplate = loadOnce(async (): Promise<InstanceTemplate> => {
  const folder = temporaryFolder()
  const { services, close } = await openAt(folder.path)
  const { ownerId, orgId } = await setUp(services.call(firstInstance, "scenario"), {
    publicUrl: `https://${host}`,
    organization: "Acme",
    owner: {
      loginName: "olga",
      email: "olga@example.com",
      firstName: "Olga",
      lastName: "Owner",
      password: "Correct-horse-7",
    },
    serviceKey: undefined,
  })
  await close()
  const names = readdirSync(folder.path)
  const files = names.map((name) => ({ name, bytes: readFileSync(join(folder.path, name)) }))
  folder.remove()
  return { files, ownerId, orgId }
})

/** How a test observes a server: its log, and hooks for its calls. */
export type Observers = {
  readonly logLevel: string
  readonly hooks: (log: Logger) => readonly Hooks[]
  /** Whether every handler currently throws. */
  readonly isBroken: () => boolean
}

const noObservers: Observers = { logLevel: "fatal", hooks: () => [], isBroken: () => false }

/** The same operation with an optional fault. */
const withFault =
  ({ isBroken }: Observers) =>
  (operation: Operation<Cx>): Operation<Cx> => ({
    ...operation,
    handler: (request, cx) => {
      if (isBroken()) throw new Error("a bug")
      return operation.handler(request, cx)
    },
  })

async function openAt(
  path: string,
  outside: Outside = { ...unreachableOutside, txtRecords: async () => [] },
  { logLevel }: Observers = noObservers,
) {
  const flags = { "--data": path, "--log-level": logLevel }
  const config = readConfig({ flags, env: {} })
  const claim = await claimFolder(config, systemRandom)
  const opened = openServices({ config, folder: claim.folder, master: claim.master, started: 0 })
  const services = { ...opened, outside }
  const close = async () => {
    await services.store.close()
    claim.release()
  }
  return { services, close }
}

type Services = Awaited<ReturnType<typeof openAt>>["services"]

/** The destination of a call: its services, and a callback for its request ID. */
type Destination = { readonly services: Services; readonly began: (requestId: string) => void }

/** The header with the instance of a call. */
const destinationHeader = "x-test-instance"
const destinations = new Map<string, Destination>()

function destinationOf(headers: Headers): Destination {
  const name = headers.get(destinationHeader) ?? ""
  const destination = destinations.get(name)
  if (!destination) throw new Error(`no test instance is called "${name}"`)
  return destination
}

type ListenAddresses = { readonly url: string; readonly grpcPort: number }

/** One API for all instances with the same observers: building it takes longer than most rows. */
const apis = new Map<Observers, Promise<ListenAddresses>>()

/** The API with both listeners; it logs to the log of the first opened instance. */
function apiFor(watching: Observers, { log, ids }: Services): Promise<ListenAddresses> {
  const api = apis.get(watching) ?? listen(watching, watching.hooks(log), ids)
  apis.set(watching, api)
  return api
}

async function listen(
  watching: Observers,
  hooks: readonly Hooks[],
  ids: Services["ids"],
): Promise<ListenAddresses> {
  const entries = createEntries<Cx>({
    operations: (await loadOperations()).map(withFault(watching)),
    authority,
    authenticate: async (headers, { requestId, address }) => {
      const { services, began } = destinationOf(headers)
      began(requestId)
      const origin = { host, peer: address, address, requestId }
      const cx = createAnonymousCall(services, headers, origin)
      if (!cx) throw new Error("nothing is set up")
      return { ...cx, caller: callerIn(headers.get("authorization") ?? "") }
    },
    position: ({ written }) => written?.position,
    head: ({ store }) => store.log.durable(),
    findTargetCalls: targetCallsOf,
    hooks,
    clock: systemClock,
    ids,
  })
  const handle = createApiHandler(entries)
  const server = Bun.serve({
    // A connection that closes while idle could lose a request that a test sends at that moment.
    idleTimeout: 0,
    hostname: "127.0.0.1",
    port: 0,
    fetch: async (request) =>
      (await handle(request, { address: "127.0.0.1" })) ?? new Response("nothing", { status: 404 }),
  })
  const grpc = grpcServer(() => entries, { hostOf: () => host })
  await new Promise<void>((done) => grpc.listen(0, "127.0.0.1", done))
  // The listeners are never stopped and must not keep the process alive.
  server.unref()
  grpc.unref()
  const address = grpc.address()
  return {
    url: `http://127.0.0.1:${server.port}`,
    grpcPort: typeof address === "object" && address ? address.port : 0,
  }
}

/**
 * Opens a separate, equally configured instance. By default no outside host responds, and no name
 * has a record.
 */
export async function openTestServer(
  outside?: Outside,
  watching: Observers = noObservers,
): Promise<TestServer> {
  const { files, ownerId, orgId } = await instanceTemplate()
  const folder = temporaryFolder()
  for (const { name, bytes } of files) {
    writeFileSync(join(folder.path, name), bytes, { mode: 0o600 })
  }
  const { services, close } = await openAt(folder.path, outside, watching)
  let requestId = ""
  let seen = 0
  destinations.set(folder.path, { services, began: (id) => void (requestId = id) })
  const { url, grpcPort } = await apiFor(watching, services)
  return {
    url,
    grpcPort,
    headers: { [destinationHeader]: folder.path },
    path: folder.path,
    ownerId,
    orgId,
    within: () => services.call(firstInstance, "scenario"),
    forget: async () => {
      requestId = ""
      for (;;) {
        const events = await services.store.log.read(seen, 1000)
        if (events.length === 0) return
        seen = events.at(-1)?.position ?? seen
      }
    },
    written: async () => {
      const events = await services.store.log.read(seen, 1000)
      return events.flatMap(({ type, correlation }) => (correlation === requestId ? [type] : []))
    },
    close: async () => {
      destinations.delete(folder.path)
      await close()
      folder.remove()
    },
  }
}

/** "Bearer user ID ORG", with a client if one is named, "Bearer system", or nothing. */
function callerIn(authorization: string): Cx["caller"] {
  const [, kind, userId = "", orgId = "", clientId = "scenario"] = authorization.split(" ")
  if (kind === "user") return { kind: "user", userId, orgId, clientId }
  if (kind !== "system") return { kind: "anonymous" }
  const publicUrl = `https://${host}`
  return { kind: "system", name: "operator", roles: ["SYSTEM_OWNER"], publicUrl }
}
