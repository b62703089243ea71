import type { Asked } from "../domain/grant/index.ts"

/** What the flow must know of a request to sign somebody in. */
export type Wanted = Pick<Asked, "prompts" | "maxAge" | "hintedUser"> & {
  /** The user that a login_hint names; empty where the name is nobody's. */
  readonly suggestedUser?: string | undefined
  /** The session that was chosen or made for this request; empty before. */
  readonly sessionId: string
  /** ms UTC. */
  readonly created: number
}

/** A person who is signed in to this browser. */
export type Present = {
  readonly id: string
  readonly userId: string
  /** ms UTC. */
  readonly authTime: number
}

/** What must happen next. `refuse`: somebody else signed in than the application asked for. */
export type Step =
  | { readonly kind: "done"; readonly sessionId: string }
  | { readonly kind: "choose" }
  | { readonly kind: "login name" }
  | { readonly kind: "password"; readonly userId: string }
  | { readonly kind: "refuse" }

/** The one rule that decides what a browser's sessions are good for, at every entrance. */
export function nextStep(wanted: Wanted, present: readonly Present[], now: number): Step {
  const { hintedUser, prompts } = wanted
  const linked = present.find((session) => session.id === wanted.sessionId)
  if (linked) {
    // OpenID Connect Core §3.1.2.1, id_token_hint: an error unless it is that person.
    if (hintedUser !== undefined && linked.userId !== hintedUser) return { kind: "refuse" }
    return doneOrPassword(wanted, linked, now)
  }
  const expected = hintedUser ?? wanted.suggestedUser
  const fitting = present.filter(({ userId }) => expected === undefined || userId === expected)
  const [only, ...others] = fitting
  // Whoever a hint names has to come by themself: their name is no secret to share with a client.
  if (!only) return { kind: "login name" }
  // It's the application that hints, so a hint never answers what the person is asked.
  const asks = prompts.includes("select_account") || prompts.includes("consent")
  if (asks || others.length > 0) return { kind: "choose" }
  return doneOrPassword(wanted, only, now)
}

function doneOrPassword(wanted: Wanted, session: Present, now: number): Step {
  return isRecent(wanted, session, now)
    ? { kind: "done", sessionId: session.id }
    : { kind: "password", userId: session.userId }
}

/** OpenID Connect Core §3.1.2.1: prompt=login and max_age ask for a sign-in that is recent. */
function isRecent({ prompts, maxAge, created }: Wanted, { authTime }: Present, now: number) {
  if (authTime > created) return true
  if (prompts.includes("login")) return false
  return maxAge === undefined || now - authTime <= maxAge * 1000
}
