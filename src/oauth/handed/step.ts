import { isSelfRegistered } from "../../domain/app/index.ts"
import type { Requested } from "../../domain/grant/index.ts"
import { Fault } from "../../kernel/fault.ts"
import {
  nextStep,
  notFreshReason,
  type Policies,
  type Present,
  policiesFor,
  type SessionPolicy,
  type Step,
  type Waiting,
} from "../../login/index.ts"
import type { Cx } from "../../store/index.ts"

/** A request that a login page serves, and the session that it is to be answered with. */
type HandedStep = Pick<Waiting, "asked" | "requirements"> & { readonly session: Present }

/**
 * Refuses where the person of a session may not have a request answered (yet), by the one rule of
 * our own pages. Answers whether their consent was needed: the page vouches for that.
 */
export function mustBeDone(
  cx: Cx,
  { asked, requirements, session }: HandedStep,
): { readonly isConsented: boolean } {
  const linked = { ...requirements, sessionId: session.id }
  const policies = unoffered(policiesFor(cx, { asked, requirements }, [session], "login page"))
  const step = nextStep(linked, [session], policies, cx.clock.now())
  if (step.kind === "done") return { isConsented: false }
  // OpenID Connect Core §3.1.2.1: then nobody can have been asked.
  if (step.kind === "consent" && !asked.prompts.includes("none")) return { isConsented: true }
  throw stepError(cx, step)
}

/**
 * What could be set up beside what is needed, and which providers people come in by, the other page
 * offers or does not.
 */
const unoffered = ({ sessions, ...rest }: Policies): Policies => ({
  ...rest,
  sessions: new Map([...sessions].map(([id, policy]) => [id, withoutOffers(policy)])),
})

const withoutOffers = ({ need, ...rest }: SessionPolicy): SessionPolicy => ({
  ...rest,
  need: need && { ...need, isDue: false, isProviderClosed: false },
})

/** Whether a person must be asked for what a request wants. */
export function wantsConsent(cx: Cx, { appId, prompts, foreign = [] }: Requested): boolean {
  const asks = foreign.length > 0 || isSelfRegistered(cx, appId)
  return prompts.includes("consent") || (asks && !prompts.includes("none"))
}

type Missing = Exclude<Step["kind"], "done">

function stepError(cx: Cx, step: Extract<Step, { kind: Missing }>): Fault {
  if (step.kind === "barred") {
    return new Fault("permission_denied", "auth_request.barred", bars[step.bar])
  }
  if (step.kind === "refuse" && step.why === "not fresh") {
    return new Fault(
      "failed_precondition",
      "auth_request.not_fresh",
      notFreshReason(cx, step.idpId),
    )
  }
  return new Fault("failed_precondition", ...missing[step.kind])
}

const missing: Readonly<Record<Exclude<Missing, "barred">, readonly [id: string, said: string]>> = {
  choose: ["auth_request.choose", "the person has to choose an account"],
  "login name": ["auth_request.other_person", "the request is for somebody else"],
  register: ["auth_request.register", "the person has to make an account first"],
  password: [
    "auth_request.check_again",
    "the application wants a sign-in that is newer than this one (prompt or max_age); check a " +
      "first factor again, then answer with the new token",
  ],
  factor: [
    "auth_request.factor_missing",
    "the person has a second factor, or a passkey, that has to be checked in this session, too; " +
      "check it, then answer with the new token",
  ],
  "set up": [
    "auth_request.factor_unset",
    "a second factor is asked for, and the person has none yet; have them set one up and check it",
  ],
  consent: [
    "auth_request.consent_required",
    "the person would have to be asked, and prompt=none forbids it; answer CONSENT_REQUIRED",
  ],
  refuse: [
    "auth_request.other_person",
    "the request is for somebody else, whom id_token_hint names",
  ],
}

const bars = {
  organisation: "the application asks for people of another organisation",
  roles: "this person has no role on the project, and the project wants one",
  project: "the organisation of this person does not have the project",
  assigned: "this user is not assigned to the application, and neither is a group of theirs",
  role: "this user has no role of the project, and the application requires one",
  network:
    "the application is limited to networks, and at this login page can't be seen where the " +
    "browser of a device's user is",
} as const
