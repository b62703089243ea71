// The whole API, and a service that it calls.
import { instance } from "../../../src/domain/instance/index.ts"
import { type House, host, openHouse } from "../../scenario/house.ts"
import { openReceiver, outsideHere, type Receiver } from "./receiver.ts"

type Asking = { readonly as?: string; readonly client?: string; readonly path?: string }

export type Reply = { readonly status: number; readonly headers: Headers; readonly body: any }

export type Stage = {
  readonly house: House
  readonly receiver: Receiver
  /** Calls an operation as the owner of the instance, unless told. */
  readonly ask: (name: string, body?: object, how?: Asking) => Promise<Reply>
  /** The same, and it must work. */
  readonly make: (name: string, body?: object, how?: Asking) => Promise<any>
  /** Makes a target at a path of the receiver; answers its id and key. */
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

/** "user/CreateUser" by its full name. */
export const fullName = (name: string): string => {
  const [service = "", method = ""] = name.split("/")
  return `core.${services[service] ?? service}/${method}`
}

export const interrupts = { restWebhook: { interruptOnError: true } }
export const calls = { restCall: { interruptOnError: true } }

export async function openStage(): Promise<Stage> {
  const receiver = await openReceiver()
  const house = await openHouse(outsideHere())
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
  const make: Stage["make"] = async (name, body, how) => {
    const reply = await ask(name, body, how)
    if (reply.status !== 200) throw new Error(`${name}: ${JSON.stringify(reply.body)}`)
    return reply.body
  }
  return {
    house,
    receiver,
    ask,
    make,
    consoleId,
    target: async (path, more = interrupts) => {
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

export const at = (kind: "request" | "response", name: string) => ({
  [kind]: { method: `/${fullName(name)}` },
})
