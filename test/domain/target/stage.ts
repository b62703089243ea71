// The whole API and a service that targets call.
import { instance } from "../../../src/domain/instance/index.ts"
import { host, openTestServer, type TestServer } from "../../scenario/house.ts"
import { localOutside, openReceiver, type Receiver } from "./receiver.ts"

type CallOptions = { readonly as?: string; readonly client?: string; readonly path?: string }

export type Reply = { readonly status: number; readonly headers: Headers; readonly body: any }

export type Stage = {
  readonly house: TestServer
  readonly receiver: Receiver
  /** Calls an operation, by default as the instance owner. */
  readonly ask: (name: string, body?: object, options?: CallOptions) => Promise<Reply>
  /** The same for calls that must succeed. */
  readonly make: (name: string, body?: object, options?: CallOptions) => Promise<any>
  /** Creates a target at a path of the receiver; returns its ID and key. */
  readonly target: (path: string, more?: object) => Promise<{ id: string; signingKey: string }>
  /** Sets an execution. */
  readonly on: (condition: object, ...targets: readonly string[]) => Promise<void>
  readonly consoleId: string
  readonly close: () => Promise<void>
}

const services: Readonly<Record<string, string>> = {
  user: "user.v2.UserService",
  org: "org.v2.OrganizationService",
  project: "project.v2.ProjectService",
  action: "action.v2.ActionService",
  session: "session.v2.SessionService",
  settings: "settings.v2.SettingsService",
  diagnosis: "diagnosis.v2.DiagnosisService",
}

/** Expands "user/CreateUser" to its full name. */
export const fullName = (name: string): string => {
  const [service = "", method = ""] = name.split("/")
  return `core.${services[service] ?? service}/${method}`
}

export const interruptingWebhook = { restWebhook: { interruptOnError: true } }
export const interruptingCall = { restCall: { interruptOnError: true } }

export async function openStage(): Promise<Stage> {
  const receiver = await openReceiver()
  const house = await openTestServer(localOutside())
  const cx = house.within()
  const consoleId = cx.store.state(cx, instance, cx.instance).consoleClientId
  const owner = `${house.ownerId} ${house.orgId}`
  const ask: Stage["ask"] = async (name, body = {}, { as = owner, client = "", path } = {}) => {
    const authorization = `Bearer user ${as} ${client}`.trim()
    const response = await fetch(`${house.url}${path ?? `/${fullName(name)}`}`, {
      method: "POST",
      headers: { host, authorization, "content-type": "application/json", ...house.headers },
      body: JSON.stringify(body),
    })
    const { status, headers } = response
    return { status, headers, body: await response.json() }
  }
  const make: Stage["make"] = async (name, body, options) => {
    const reply = await ask(name, body, options)
    if (reply.status !== 200) throw new Error(`${name}: ${JSON.stringify(reply.body)}`)
    return reply.body
  }
  return {
    house,
    receiver,
    ask,
    make,
    consoleId,
    target: async (path, more = interruptingWebhook) => {
      const endpoint = path.startsWith("/") ? `${receiver.url}${path}` : path
      const asked = { name: path, timeout: "2s", endpoint, ...more }
      return make("action/CreateTarget", asked)
    },
    on: async (condition, ...targets) => {
      await make("action/SetExecution", { condition, targets })
    },
    close: async () => {
      await house.close()
      await receiver.close()
    },
  }
}

export const methodCondition = (kind: "request" | "response", name: string) => ({
  [kind]: { method: `/${fullName(name)}` },
})
