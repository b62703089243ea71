import { isOpenWindow } from "../../kernel/clock.ts"
import { aggregate, type Event } from "../../store/index.ts"

/** Options of a sign-up link. */
export type LinkTerms = {
  readonly orgId: string
  /** Number of accounts that can be created with it. */
  readonly useLimit: number
  /** Expiration, ms UTC. */
  readonly expires: number
  /** Accepted domains of email addresses, in lower-case ASCII; empty for all. */
  readonly domains: readonly string[]
  /** Whether an administrator must approve each sign-up; absent means no. */
  readonly requiresApproval?: boolean
}

export type SignUpLinkEvent =
  | Event<"sign_up_link.added", LinkTerms, { readonly hashed: string }>
  | Event<"sign_up_link.used", { readonly userId: string }>
  | Event<"sign_up_link.revoked">

export type SignUpLink = LinkTerms & {
  readonly status: "absent" | "active" | "revoked"
  readonly uses: number
  /** Keyed hash of the secret; empty after revocation. */
  readonly hashed: string
}

const absentLink: SignUpLink = {
  status: "absent",
  orgId: "",
  useLimit: 0,
  expires: 0,
  domains: [],
  uses: 0,
  hashed: "",
}

/** A link with which users can create their own accounts in an organization. */
export const signUpLink = aggregate<SignUpLinkEvent, SignUpLink>({
  stream: "sign_up_link",
  initial: absentLink,
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
export const requestLifetimeMs = 30 * 86_400_000

type PendingRequest = {
  readonly orgId: string
  /** When it is deleted without a decision, ms UTC. */
  readonly expires: number
  /** The sign-up link that was used; omitted without one. */
  readonly signUpLinkId?: string
}

/** The data that the user entered; the address is verified. */
export type Applicant = {
  readonly email: string
  readonly givenName: string
  readonly familyName: string
  /** Preferred language, BCP 47. */
  readonly language: string
}

export type SignUpRequestEvent =
  | Event<"sign_up_request.added", PendingRequest, Applicant>
  | Event<"sign_up_request.approved">
  | Event<"sign_up_request.refused">

export type SignUpRequest = PendingRequest & {
  readonly status: "absent" | "waiting" | "approved" | "refused"
  /** Undefined after the decision. */
  readonly applicant: Applicant | undefined
}

const absentRequest: SignUpRequest = {
  status: "absent",
  orgId: "",
  expires: 0,
  applicant: undefined,
}

/** A sign-up that needs approval; the ID is that of the future user. */
export const signUpRequest = aggregate<SignUpRequestEvent, SignUpRequest>({
  stream: "sign_up_request",
  retention: "transient",
  expires: ({ expires }) => expires,
  initial: absentRequest,
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

const hourMs = 3_600_000

type NoticeCount = { readonly since: number; readonly count: number }

/**
 * Number of emails to the administrators of an organization; the ID is that of the organization.
 */
export const signUpNotice = aggregate<Event<"sign_up_notice.counted">, NoticeCount>({
  stream: "sign_up_notice",
  retention: "transient",
  expires: ({ since }) => since + hourMs,
  initial: { since: 0, count: 0 },
  evolve: {
    "sign_up_notice.counted": ({ since, count }, { time }) =>
      isOpenWindow(since, hourMs, time) ? { since, count: count + 1 } : { since: time, count: 1 },
  },
})

/** Limit per hour; later requests are only listed. */
const noticesPerHourMax = 5

export const isNoticeLimitReached = ({ since, count }: NoticeCount, now: number): boolean =>
  isOpenWindow(since, hourMs, now) && count >= noticesPerHourMax
