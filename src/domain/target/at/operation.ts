import type { Cx } from "../../../store/index.ts"
import { requireInstance } from "../../instance/index.ts"
import { permissionsOn, stateReader } from "../../member/index.ts"
import { type Ends, runChain } from "../call/chain.ts"
import { conditionsOf } from "../condition.ts"
import { planOf } from "../view.ts"

/** An operation that somebody has called. */
export type Called = {
  /** "core.user.v2.UserService/CreateUser". */
  readonly name: string
  readonly changes: boolean
}

/** How a message becomes what is sent, and what comes back a message; the caller's to know. */
export type Form<T> = {
  readonly shown: (message: T) => unknown
  readonly read: (text: string, message: T) => T
}

export type Heard<T> = {
  readonly message: T
  readonly passedOver: readonly string[]
  /** The targets that changed it, and the users who decided what they make of it. */
  readonly changedBy: readonly string[]
  readonly authors: readonly string[]
}

/** What targets have to say to an operation. */
export type Say = {
  /** Those that are not asked although they are set, for they must not be in the way. */
  readonly passedOver: readonly string[]
  readonly request?: <T>(message: T, form: Form<T>) => Promise<Heard<T>>
  /** Also told what was requested. */
  readonly response?: <T>(message: T, form: Form<T>, request: unknown) => Promise<Heard<T>>
}

/**
 * What targets have to say to an operation of a user; undefined where nobody has, which costs a
 * look into what is set. Nothing that a target does keeps administrators out: they are not asked
 * about what mends them, nor about what the console only reads; what somebody changes in the
 * console who may mend them goes on whatever fails; and a sign-in goes on unless it is refused.
 */
export function sayOf(cx: Cx, called: Called): Say | undefined {
  if (cx.caller.kind !== "user") return undefined
  const plan = planOf(cx)
  if (plan.size === 0) return undefined
  const before = conditionsOf("request", called.name).find((each) => plan.has(each))
  const after = conditionsOf("response", called.name).find((each) => plan.has(each))
  if (before === undefined && after === undefined) return undefined
  const idsAt = (condition: string | undefined) =>
    condition === undefined ? [] : (plan.get(condition) ?? [])
  if (isOpen(cx, called)) return { passedOver: [...new Set([...idsAt(before), ...idsAt(after)])] }
  const ask =
    (condition: string) =>
    async <T>(message: T, form: Form<T>, more: (now: T) => object): Promise<Heard<T>> => {
      const { value, passedOver, changedBy, authors } = await runChain(
        cx,
        idsAt(condition),
        message,
        {
          condition,
          key: cx.requestId,
          ...leniency(cx, called),
          payload: (now) => ({ ...sceneOf(cx, called), ...more(now) }),
          read: form.read,
        },
      )
      return { message: value, passedOver, changedBy, authors }
    }
  return {
    passedOver: [],
    ...(before !== undefined && {
      request: (message, form) =>
        ask(before)(message, form, (now) => ({ request: form.shown(now) })),
    }),
    ...(after !== undefined && {
      response: (message, form, request) =>
        ask(after)(message, form, (now) => ({ request, response: form.shown(now) })),
    }),
  }
}

/** Who called what where; the names are the interface's. */
const sceneOf = (cx: Cx, { name }: Called) => ({
  fullMethod: `/${name}`,
  instanceID: cx.instance,
  orgID: cx.orgId ?? "",
  projectID: "",
  userID: cx.caller.kind === "user" ? cx.caller.userId : "",
})

/** What mends targets, and shows what they do, by the beginning of its name. */
const mending = [
  "core.action.v2.ActionService/",
  "core.resources.action.v3alpha.CoreActions/",
  "core.diagnosis.v2.DiagnosisService/",
]
/** What is set for the instance, which whoever mends something wants to read. */
const settings = ["core.settings.v2.SettingsService/", "core.admin.v1.AdminService/"]

function isOpen(cx: Cx, { name, changes }: Called): boolean {
  if (mending.some((each) => name.startsWith(each))) return true
  return !changes && (isConsole(cx) || settings.some((each) => name.startsWith(each)))
}

const isConsole = (cx: Cx): boolean =>
  cx.caller.kind === "user" && cx.caller.clientId === requireInstance(cx).consoleClientId

/** Who has a page open waits no longer than that for what is only asked out of courtesy. */
const courtesyMs = 3000

/** What people sign in by, on login pages of somebody else. */
const signIn = [
  "core.session.v2.SessionService/",
  "core.oidc.v2.OIDCService/",
  "core.saml.v2.SAMLService/",
]

/** What is broken keeps nobody from signing in, and who mends it from nothing. */
function leniency(cx: Cx, { name }: Called): { readonly ends?: Ends; readonly waitMs?: number } {
  const userId = cx.caller.kind === "user" ? cx.caller.userId : ""
  if (isConsole(cx) && mayMendTargets(cx, userId)) return { ends: "nothing", waitMs: courtesyMs }
  const isSignIn = signIn.some((each) => name.startsWith(each))
  return isSignIn ? { ends: "refusals", waitMs: courtesyMs } : {}
}

/** Whether somebody may mend targets. */
export const mayMendTargets = (cx: Cx, userId: string): boolean =>
  permissionsOn(
    { ...stateReader(cx), caller: { kind: "anonymous" } },
    { level: "instance" },
    userId,
  ).has("action.target.write")
