import { isSelfRegistered } from "../../domain/app/index.ts"
import type { AuthorizationRequest } from "../../domain/grant/index.ts"
import { Fault } from "../../kernel/fault.ts"
import {
  formatNotFreshReason,
  nextStep,
  type PendingRequest,
  type Policies,
  type PresentSession,
  policiesFor,
  type SessionPolicy,
  type Step,
} from "../../login/index.ts"
import type { Cx } from "../../store/index.ts"

/** A request that a custom login page serves, and the session to complete it with. */
type CustomLoginStep = Pick<PendingRequest, "asked" | "requirements"> & {
  readonly session: PresentSession
}

/**
 * Rejects a request that the session's user can't complete yet, by the same rule as on our own
 * pages. Returns whether consent was needed, which the custom page must have obtained.
 */
export function requireComplete(
  cx: Cx,
  { asked, requirements, session }: CustomLoginStep,
): { readonly isConsented: boolean } {
  const linked = { ...requirements, sessionId: session.id }
  const policies = policiesWithoutOffers(
    policiesFor(cx, { asked, requirements }, [session], "login page"),
  )
  const step = nextStep(linked, [session], policies, cx.clock.now())
  if (step.kind === "done") return { isConsented: false }
  // OpenID Connect Core §3.1.2.1: with prompt=none, the user can't have been asked.
  if (step.kind === "consent" && !asked.prompts.includes("none")) return { isConsented: true }
  throw stepError(cx, step)
}

/** Optional factor setup and the list of providers are left to the custom login page. */
const policiesWithoutOffers = ({ sessions, ...rest }: Policies): Policies => ({
  ...rest,
  sessions: new Map([...sessions].map(([id, policy]) => [id, withoutOffers(policy)])),
})

const withoutOffers = ({ need, ...rest }: SessionPolicy): SessionPolicy => ({
  ...rest,
  need: need && { ...need, isDue: false, isProviderClosed: false },
})

/** Whether a request requires consent. */
export function requiresConsent(
  cx: Cx,
  { appId, prompts, foreign = [] }: AuthorizationRequest,
): boolean {
  const asks = foreign.length > 0 || isSelfRegistered(cx, appId)
  return prompts.includes("consent") || (asks && !prompts.includes("none"))
}

type MissingStep = Exclude<Step["kind"], "done">

function stepError(cx: Cx, step: Extract<Step, { kind: MissingStep }>): Fault {
  if (step.kind === "barred") {
    return new Fault("permission_denied", "auth_request.barred", errorsByBarrier[step.bar])
  }
  if (step.kind === "refuse" && step.why === "not fresh") {
    return new Fault(
      "failed_precondition",
      "auth_request.not_fresh",
      formatNotFreshReason(cx, step.idpId),
    )
  }
  return new Fault("failed_precondition", ...errorsByStep[step.kind])
}

const errorsByStep: Readonly<
  Record<Exclude<MissingStep, "barred">, readonly [id: string, said: string]>
> = {
  choose: ["auth_request.choose", "the user must select an account"],
  "login name": ["auth_request.other_person", "the request is for a different user"],
  register: ["auth_request.register", "the user must register first"],
  password: [
    "auth_request.check_again",
    "the application requires a newer sign-in (prompt or max_age); check a first factor " +
      "again, then use the new token",
  ],
  factor: [
    "auth_request.factor_missing",
    "the user has a second factor or a passkey that must be checked in this session; check " +
      "it, then use the new token",
  ],
  "set up": [
    "auth_request.factor_unset",
    "a second factor is required, and the user has none; set one up and check it",
  ],
  consent: [
    "auth_request.consent_required",
    "the user must give consent, which prompt=none forbids; use CONSENT_REQUIRED",
  ],
  refuse: [
    "auth_request.other_person",
    "the request is for a different user, specified by id_token_hint",
  ],
}

const errorsByBarrier = {
  organisation: "the application is only for users of another organization",
  roles: "the user has no role on the project, which requires one",
  project: "the user's organization does not have the project",
  assigned: "neither the user nor one of their groups is assigned to the application",
  role: "the user has no role on the project, which the application requires",
  network:
    "the application is limited to networks, and a custom login page can't determine the " +
    "network of a device's user",
} as const
