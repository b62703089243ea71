import type { Cx } from "../../../store/index.ts"
import { requireInstance } from "../../instance/index.ts"
import { permissionsOn, stateReader } from "../../member/index.ts"
import { conditionsOf } from "../condition.ts"
import { targetsByCondition } from "../view.ts"
import { type EndingErrors, runChain } from "./chain.ts"

/** A called operation. */
export type CalledOperation = {
  /** "core.user.v2.UserService/CreateUser". */
  readonly name: string
  readonly changes: boolean
}

/** Converts messages to what is sent, and applies responses to messages. */
export type MessageFormat<T> = {
  readonly toJson: (message: T) => unknown
  readonly applyResponse: (text: string, message: T) => T
}

export type TargetResult<T> = {
  readonly message: T
  readonly skippedTargets: readonly string[]
  /** The targets that changed the message, and the users who are responsible for the changes. */
  readonly changedBy: readonly string[]
  readonly authors: readonly string[]
}

/** The targets of an operation. */
export type TargetCalls = {
  /** Targets that are set but not called, so that they can't block the operation. */
  readonly skippedTargets: readonly string[]
  readonly request?: <T>(message: T, form: MessageFormat<T>) => Promise<TargetResult<T>>
  /** Also receives the request. */
  readonly response?: <T>(
    message: T,
    form: MessageFormat<T>,
    request: unknown,
  ) => Promise<TargetResult<T>>
}

/**
 * The targets of a user's operation; undefined if there are none, which is a fast lookup. Targets
 * can never lock administrators out: they are not called for operations that manage targets or for
 * reads of the console; their errors are ignored for changes in the console by users who can manage
 * targets; and a sign-in continues unless it is rejected.
 */
export function targetCallsOf(cx: Cx, called: CalledOperation): TargetCalls | undefined {
  if (cx.caller.kind !== "user") return undefined
  const plan = targetsByCondition(cx)
  if (plan.size === 0) return undefined
  const before = conditionsOf("request", called.name).find((each) => plan.has(each))
  const after = conditionsOf("response", called.name).find((each) => plan.has(each))
  if (before === undefined && after === undefined) return undefined
  const idsAt = (condition: string | undefined) =>
    condition === undefined ? [] : (plan.get(condition) ?? [])
  if (isExempt(cx, called))
    return { skippedTargets: [...new Set([...idsAt(before), ...idsAt(after)])] }
  const callTargetsAt =
    (condition: string) =>
    async <T>(
      message: T,
      form: MessageFormat<T>,
      more: (now: T) => object,
    ): Promise<TargetResult<T>> => {
      const { value, skippedTargets, changedBy, authors } = await runChain(
        cx,
        idsAt(condition),
        message,
        {
          condition,
          key: cx.requestId,
          ...errorPolicyOf(cx, called),
          payload: (now) => ({ ...callContextOf(cx, called), ...more(now) }),
          applyResponse: form.applyResponse,
        },
      )
      return { message: value, skippedTargets, changedBy, authors }
    }
  return {
    skippedTargets: [],
    ...(before !== undefined && {
      request: (message, form) =>
        callTargetsAt(before)(message, form, (now) => ({ request: form.toJson(now) })),
    }),
    ...(after !== undefined && {
      response: (message, form, request) =>
        callTargetsAt(after)(message, form, (now) => ({ request, response: form.toJson(now) })),
    }),
  }
}

/** The caller and the operation, with the names of the API. */
const callContextOf = (cx: Cx, { name }: CalledOperation) => ({
  fullMethod: `/${name}`,
  instanceID: cx.instance,
  orgID: cx.orgId ?? "",
  projectID: "",
  userID: cx.caller.kind === "user" ? cx.caller.userId : "",
})

/** Operations that manage targets and show their calls, by the start of their names. */
const targetManagement = [
  "core.action.v2.ActionService/",
  "core.resources.action.v3alpha.CoreActions/",
  "core.diagnosis.v2.DiagnosisService/",
]
/** Settings of the instance, which administrators need to read when they fix targets. */
const settingsServices = ["core.settings.v2.SettingsService/", "core.admin.v1.AdminService/"]

function isExempt(cx: Cx, { name, changes }: CalledOperation): boolean {
  if (targetManagement.some((each) => name.startsWith(each))) return true
  return !changes && (isConsole(cx) || settingsServices.some((each) => name.startsWith(each)))
}

const isConsole = (cx: Cx): boolean =>
  cx.caller.kind === "user" && cx.caller.clientId === requireInstance(cx).consoleClientId

/** How long an operation waits for a target whose errors are ignored. */
const optionalWaitMs = 3000

/** Operations that custom login pages use for sign-in. */
const signInServices = [
  "core.session.v2.SessionService/",
  "core.oidc.v2.OIDCService/",
  "core.saml.v2.SAMLService/",
]

/** Broken targets must not prevent sign-ins or their own repair. */
function errorPolicyOf(
  cx: Cx,
  { name }: CalledOperation,
): { readonly endingErrors?: EndingErrors; readonly waitMs?: number } {
  const userId = cx.caller.kind === "user" ? cx.caller.userId : ""
  if (isConsole(cx) && canManageTargets(cx, userId))
    return { endingErrors: "nothing", waitMs: optionalWaitMs }
  const isSignIn = signInServices.some((each) => name.startsWith(each))
  return isSignIn ? { endingErrors: "refusals", waitMs: optionalWaitMs } : {}
}

/** Whether a user can manage targets. */
export const canManageTargets = (cx: Cx, userId: string): boolean =>
  permissionsOn(
    { ...stateReader(cx), caller: { kind: "anonymous" } },
    { level: "instance" },
    userId,
  ).has("action.target.write")
