import { isOpenWindow } from "../../kernel/clock.ts"
import { aggregate, type Event } from "../../store/index.ts"

/** What a sign-up link is created with. */
export type LinkTerms = {
  readonly orgId: string
  /** How many accounts can be created with it. */
  readonly useLimit: number
  /** When it stops working, ms UTC. */
  readonly expires: number
  /** The domains of the email addresses that it accepts, in lower-case ASCII; empty for all. */
  readonly domains: readonly string[]
  /** Whether an administrator must approve each sign-up; left out: no. */
  readonly requiresApproval?: boolean
}

export type SignUpLinkEvent =
  | Event<"sign_up_link.added", LinkTerms, { readonly hashed: string }>
  | Event<"sign_up_link.used", { readonly userId: string }>
  | Event<"sign_up_link.revoked">

export type SignUpLink = LinkTerms & {
  readonly status: "absent" | "active" | "revoked"
  readonly uses: number
  /** The keyed hash of its secret; empty once it is revoked. */
  readonly hashed: string
}

const absent: SignUpLink = {
  status: "absent",
  orgId: "",
  useLimit: 0,
  expires: 0,
  domains: [],
  uses: 0,
  hashed: "",
}

/** A link with which people create their own accounts in an organization. */
export const signUpLink = aggregate<SignUpLinkEvent, SignUpLink>({
  stream: "sign_up_link",
  initial: absent,
  evolve: {
    "sign_up_link.added": (_, { data, private: secret }) => ({
      ...data,
      status: "active",
      uses: 0,
      hashed: secret?.hashed ?? "",
    }),
    "sign_up_link.used": (state) => ({ ...state, uses: state.uses + 1 }),
    "sign_up_link.revoked": (state) => ({ ...state, status: "revoked", hashed: "" }),
  },
})

/** How long a sign-up waits for approval. */
export const requestMs = 30 * 86_400_000

type Waiting = {
  readonly orgId: string
  /** When it is deleted if nobody has decided, ms UTC. */
  readonly expires: number
  /** The sign-up link that it came by; left out without one. */
  readonly signUpLinkId?: string
}

/** Who wants an account, as they have said it; the code of a mail has proven the address. */
export type Applicant = {
  readonly email: string
  readonly givenName: string
  readonly familyName: string
  /** What they read, BCP 47. */
  readonly language: string
}

export type SignUpRequestEvent =
  | Event<"sign_up_request.added", Waiting, Applicant>
  | Event<"sign_up_request.approved">
  | Event<"sign_up_request.refused">

export type SignUpRequest = Waiting & {
  readonly status: "absent" | "waiting" | "approved" | "refused"
  /** Undefined once it is decided. */
  readonly applicant: Applicant | undefined
}

const unknown: SignUpRequest = { status: "absent", orgId: "", expires: 0, applicant: undefined }

/** A sign-up that an administrator decides on; the id is the one that its user will have. */
export const signUpRequest = aggregate<SignUpRequestEvent, SignUpRequest>({
  stream: "sign_up_request",
  retention: "transient",
  expires: ({ expires }) => expires,
  initial: unknown,
  evolve: {
    "sign_up_request.added": (_, { data, private: applicant }) => ({
      ...data,
      status: "waiting",
      applicant: applicant ?? undefined,
    }),
    "sign_up_request.approved": (state) => ({
      ...state,
      status: "approved",
      applicant: undefined,
    }),
    "sign_up_request.refused": (state) => ({ ...state, status: "refused", applicant: undefined }),
  },
})

const hour = 3_600_000

type Notices = { readonly since: number; readonly count: number }

/** How often the administrators of an organization were mailed; the id is the organization's. */
export const signUpNotice = aggregate<Event<"sign_up_notice.counted">, Notices>({
  stream: "sign_up_notice",
  retention: "transient",
  expires: ({ since }) => since + hour,
  initial: { since: 0, count: 0 },
  evolve: {
    "sign_up_notice.counted": ({ since, count }, { time }) =>
      isOpenWindow(since, hour, time) ? { since, count: count + 1 } : { since: time, count: 1 },
  },
})

/** So often within an hour; what comes after is in the list. */
const noticesMax = 5

export const isNoticed = ({ since, count }: Notices, now: number): boolean =>
  isOpenWindow(since, hour, now) && count >= noticesMax
