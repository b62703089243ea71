// The whole API in this process, on both of its listeners, with nothing before it but a table of
// who calls: tokens are tried elsewhere.

import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { Logger } from "@logtape/logtape"
import { entriesOf, type Hooks } from "../../src/api/dispatch.ts"
import { grpcServer } from "../../src/api/encoding/grpc.ts"
import type { Operation } from "../../src/api/method.ts"
import { apiHandler } from "../../src/api/routes.ts"
import { claimFolder } from "../../src/boot/folder/claim.ts"
import { readConfig } from "../../src/boot/settings.ts"
import { firstInstance, setUp } from "../../src/domain/setup/index.ts"
import { sayOf } from "../../src/domain/target/index.ts"
import { systemClock } from "../../src/kernel/clock.ts"
import { systemRandom } from "../../src/kernel/crypto/random.ts"
import { lazily } from "../../src/kernel/lazy.ts"
import type { Outside } from "../../src/kernel/port/outbound.ts"
import { anonymousCall } from "../../src/server/caller.ts"
import { authority, operations } from "../../src/server/modules.ts"
import { openServices } from "../../src/server/services.ts"
import type { Cx } from "../../src/store/index.ts"
import { temporaryFolder } from "../support/latchkey.ts"
import { nowhere } from "../support/outside.ts"

export const host = "id.example.com"

export type House = {
  readonly url: string
  /** Every call must carry these. */
  readonly headers: Readonly<Record<string, string>>
  /** Its data folder. */
  readonly path: string
  readonly grpcPort: number
  readonly ownerId: string
  readonly orgId: string
  /** Forgets the calls so far. */
  readonly forget: () => Promise<void>
  /** The types of the events that the last call wrote. */
  readonly written: () => Promise<readonly string[]>
  /** A call of the process itself, past the API. */
  readonly within: () => Cx
  readonly close: () => Promise<void>
}

/** The files of a folder in which everything is set up, and whose it is. */
type Furnished = {
  readonly files: readonly { readonly name: string; readonly bytes: Uint8Array }[]
  readonly ownerId: string
  readonly orgId: string
}

/** To set an instance up costs three times as much as to open a copy of one. */
const furnished = lazily(async (): Promise<Furnished> => {
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

/** What watches a house: what it logs, and the hooks that are told of its calls. */
export type Watching = {
  readonly logLevel: string
  readonly hooks: (log: Logger) => readonly Hooks[]
  /** Whether every handler has a bug now. */
  readonly isBroken: () => boolean
}

const unwatched: Watching = { logLevel: "fatal", hooks: () => [], isBroken: () => false }

/** The same operation, which may be broken. */
const breaking =
  ({ isBroken }: Watching) =>
  (operation: Operation<Cx>): Operation<Cx> => ({
    ...operation,
    handler: (request, cx) => {
      if (isBroken()) throw new Error("a bug")
      return operation.handler(request, cx)
    },
  })

async function openAt(
  path: string,
  outside: Outside = { ...nowhere, texts: async () => [] },
  { logLevel }: Watching = unwatched,
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

/** Where a call goes: the services that answer it, and who hears its request ID. */
type Destination = { readonly services: Services; readonly began: (requestId: string) => void }

/** Names the instance that a call is for. */
const destinationHeader = "x-test-instance"
const destinations = new Map<string, Destination>()

function destinationOf(headers: Headers): Destination {
  const name = headers.get(destinationHeader) ?? ""
  const destination = destinations.get(name)
  if (!destination) throw new Error(`no test instance is called "${name}"`)
  return destination
}

type Listening = { readonly url: string; readonly grpcPort: number }

/** One API for all instances that are watched alike: to build it takes longer than most rows do. */
const apis = new Map<Watching, Promise<Listening>>()

/** The API with both of its listeners; it logs to the log of the instance that was opened first. */
function apiFor(watching: Watching, { log, ids }: Services): Promise<Listening> {
  const api = apis.get(watching) ?? listen(watching, watching.hooks(log), ids)
  apis.set(watching, api)
  return api
}

async function listen(
  watching: Watching,
  hooks: readonly Hooks[],
  ids: Services["ids"],
): Promise<Listening> {
  const entries = entriesOf<Cx>({
    operations: (await operations()).map(breaking(watching)),
    authority,
    authenticate: async (headers, { requestId, address }) => {
      const { services, began } = destinationOf(headers)
      began(requestId)
      const origin = { host, peer: address, address, requestId }
      const cx = anonymousCall(services, headers, origin)
      if (!cx) throw new Error("nothing is set up")
      return { ...cx, caller: callerIn(headers.get("authorization") ?? "") }
    },
    position: ({ written }) => written?.position,
    head: ({ store }) => store.log.durable(),
    say: sayOf,
    hooks,
    clock: systemClock,
    ids,
  })
  const handle = apiHandler(entries)
  const server = Bun.serve({
    // A connection that closes while idle may lose what a test sends on it just then.
    idleTimeout: 0,
    hostname: "127.0.0.1",
    port: 0,
    fetch: async (request) =>
      (await handle(request, { address: "127.0.0.1" })) ?? new Response("nothing", { status: 404 }),
  })
  const grpc = grpcServer(() => entries, { hostOf: () => host })
  await new Promise<void>((done) => grpc.listen(0, "127.0.0.1", done))
  // They are never stopped, and must not keep the process from ending.
  server.unref()
  grpc.unref()
  const address = grpc.address()
  return {
    url: `http://127.0.0.1:${server.port}`,
    grpcPort: typeof address === "object" && address ? address.port : 0,
  }
}

/**
 * Opens an instance of one's own, set up alike. Outside, nobody answers unless told, and no name
 * has a record.
 */
export async function openHouse(outside?: Outside, watching: Watching = unwatched): Promise<House> {
  const { files, ownerId, orgId } = await furnished()
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

/** "Bearer user ID ORG", by which client if one is named, "Bearer system", or nothing. */
function callerIn(authorization: string): Cx["caller"] {
  const [, kind, userId = "", orgId = "", clientId = "scenario"] = authorization.split(" ")
  if (kind === "user") return { kind: "user", userId, orgId, clientId }
  if (kind !== "system") return { kind: "anonymous" }
  const publicUrl = `https://${host}`
  return { kind: "system", name: "operator", roles: ["SYSTEM_OWNER"], publicUrl }
}
