import { Database } from "bun:sqlite"
import { claimFolder } from "../../src/boot/folder/claim.ts"
import { readConfig } from "../../src/boot/settings.ts"
import { createServiceKey } from "../../src/domain/service-account/service-key.ts"
import { setUp } from "../../src/domain/setup/index.ts"
import { systemRandom } from "../../src/kernel/crypto/random.ts"
import type { Ids } from "../../src/kernel/id.ts"
import { createApp } from "../../src/server/app.ts"
import { openServices, type ServerServices } from "../../src/server/services.ts"
import { createToken } from "../../src/server/setup/setup-token.ts"
import { assertionOf, owner, type ServiceKey, temporaryFolder } from "../support/latchkey.ts"
import { bearer, methodOf, parseReply, pathOf, type Reply } from "./service.ts"

/** One of two instances in one process. */
export type TestInstance = {
  readonly instance: string
  readonly url: string
  readonly key: ServiceKey
  readonly ownerId: string
  readonly orgId: string
  /** Sends a request to the host of this instance. */
  readonly send: (path: string, init?: RequestInit) => Promise<Reply>
  readonly call: (name: string, request: object, token: string) => Promise<Reply>
  readonly token: (key?: ServiceKey, scope?: string) => Promise<string>
  /** The rows of this instance by table, including events. */
  readonly rows: () => Readonly<Record<string, readonly unknown[]>>
}

export type InstancePair = {
  readonly one: TestInstance
  readonly two: TestInstance
  /** The store that both instances share. */
  readonly store: ServerServices["store"]
  readonly close: () => Promise<void>
}

/** Creates two instances in one process and one database, with the same IDs for everything. */
export async function openInstancePair(logLevel = "fatal"): Promise<InstancePair> {
  const folder = temporaryFolder()
  const flags = { "--data": folder.path, "--log-level": logLevel }
  const config = readConfig({ flags, env: {} })
  const claim = await claimFolder(config, systemRandom)
  const { path } = claim.folder
  const opened = openServices({ config, folder: claim.folder, master: claim.master, started: 0 })
  const ids = createRepeatedIds()
  const services: ServerServices = { ...opened, ids }
  const setupToken = createToken(systemRandom, { open: () => false, closed: () => undefined })
  const { answer } = createApp({ services, setupToken, upstream: "http://localhost" })

  const side = async (instance: string, name: string): Promise<TestInstance> => {
    const url = `http://${name}.example.com`
    const send = async (at: string, init: RequestInit = {}) => {
      ids.use(instance)
      const headers = { host: new URL(url).host, ...Object(init.headers) }
      return parseReply(
        await answer(new Request(`${url}${at}`, { ...init, headers }), () => "127.0.0.1"),
      )
    }
    ids.use(instance)
    const userId = ids.next()
    const { content, ...pair } = await createServiceKey({ ids }, userId)
    const input = { ...inputOf(url, name), serviceKey: { ...pair, userId } }
    const made = await setUp({ ...opened.call(instance, "setup"), ids }, input)
    const key: ServiceKey = JSON.parse(content)
    return {
      instance,
      url,
      key,
      ownerId: made.ownerId,
      orgId: made.orgId,
      send,
      call: (method, request, token) => send(pathOf(methodOf(method)), postRequest(request, token)),
      token: async (of = key, scope = "openid urn:core:iam:org:project:id:core:aud") => {
        const assertion = await assertionOf(url, of)
        const { body } = await send("/oauth/v2/token", {
          method: "POST",
          body: tokenForm(assertion, scope),
        })
        return body.access_token
      },
      rows: () => rowsOf(`${path}/latchkey.db`, instance),
    }
  }
  const pair = { one: await side("1", "one"), two: await side("2", "two") }
  const close = async () => {
    await opened.store.close()
    claim.release()
    folder.remove()
  }
  return { ...pair, store: opened.store, close }
}

const inputOf = (publicUrl: string, name: string) => ({
  publicUrl,
  organization: `Organisation ${name}`,
  owner: { ...owner, firstName: "Ada", lastName: name },
})

export const tokenForm = (assertion: string, scope: string) =>
  new URLSearchParams({
    grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer",
    assertion,
    scope,
  })

const postRequest = (request: object, token: string): RequestInit => ({
  method: "POST",
  headers: { "content-type": "application/json", ...bearer(token) },
  body: JSON.stringify(request),
})

/** Generates the same sequence of IDs for each instance. */
function createRepeatedIds(): Ids & { readonly use: (instance: string) => void } {
  const counts = new Map<string, bigint>()
  let current = ""
  return {
    use: (instance) => {
      current = instance
    },
    newest: () => 0,
    next: () => {
      const next = (counts.get(current) ?? 500_000_000_000_000_000n) + 1n
      counts.set(current, next)
      return `${next}`
    },
  }
}

function rowsOf(file: string, instance: string) {
  const database = new Database(file, { readonly: true })
  const tables = database
    .query<{ name: string }, []>(
      `SELECT m.name FROM sqlite_master m JOIN pragma_table_info(m.name) c
       WHERE m.type = 'table' AND c.name = 'instance' ORDER BY m.name`,
    )
    .all()
  const rows = tables.map(({ name }) => {
    const sql = `SELECT * FROM "${name}" WHERE instance = ?`
    return [name, database.query(sql).all(instance)] as const
  })
  database.close()
  return Object.fromEntries(rows)
}
