import { Fault } from "../../kernel/fault.ts"
import { lru } from "../../kernel/lru.ts"
import type { Found, Page } from "../../kernel/page.ts"
import {
  aggregate,
  type Cx,
  type Draft,
  type Event,
  ofInstance,
  type Searchable,
  search,
  statement,
  type Transaction,
  view,
} from "../../store/index.ts"
import { type AppEvent, app } from "../app/index.ts"
import { instance, requireInstance } from "../instance/index.ts"
import type { ProjectEvent } from "../project/index.ts"
import type { UserEvent } from "../user-model/index.ts"

const day = 86_400_000

/** What a sign-in shows of how its application is set up. */
export type SignInUse = {
  /** Whether it requested the claims of the user's profile. */
  readonly profile: boolean
  /** Scopes that it requested and that were not granted. */
  readonly dropped: readonly string[]
}

export type UseEvent = Event<
  "application.used",
  {
    readonly userId: string
    readonly appId: string
    readonly projectId: string
    /** Absent where no sign-in was noted, and in events from before. */
    readonly signIn?: SignInUse
    /** Whether the application read the user's claims at userinfo or by introspection. */
    readonly claimsRead?: true
  }
>

type Use = { readonly last: number; readonly dropped: readonly string[] }

/** When somebody last used an application, to the day: each pair of both is a stream. */
export const applicationUse = aggregate<UseEvent, Use>({
  stream: "app_use",
  retention: "transient",
  expires: ({ last }) => last + 90 * day,
  revision: 2,
  initial: { last: 0, dropped: [] },
  evolve: {
    "application.used": ({ dropped }, { data: { signIn }, time }) => ({
      last: time,
      dropped: signIn?.dropped ?? dropped,
    }),
  },
})

/** The stream of a person's use of an application. */
export const pairId = (userId: string, appId: string): string => `${userId}/${appId}`

/**
 * Notes that a person gets a token for an application, at most once a day unless a sign-in drops
 * other scopes than the last, where the instance wants to know who got tokens at all; of the
 * console, nobody asks. Part of the step that issues it.
 */
export function noteUse(tx: Transaction, userId: string, appId: string, given?: SignInUse): void {
  const signIn = given && { ...given, dropped: shortened(given.dropped) }
  const { last, dropped } = tx.state(applicationUse, pairId(userId, appId))
  const isSame = signIn === undefined || signIn.dropped.join(" ") === dropped.join(" ")
  if (isSame && tx.now < last + day) return
  note(tx, { userId, appId, ...(signIn && { signIn }) })
}

/** Whoever signs in can send any words. */
const shortened = (scopes: readonly string[]): readonly string[] =>
  scopes.slice(0, 20).map((scope) => scope.slice(0, 100))

function note(tx: Transaction, shown: Omit<UseEvent["data"], "projectId">): void {
  const { oidc, projectId: own } = tx.state(instance, tx.instance)
  if (!oidc.tokenAudit.people) return
  const { userId, appId } = shown
  const on = tx.state(app, appId)
  if (!("projectId" in on) || on.projectId === own) return
  const event: Draft<UseEvent> = {
    type: "application.used",
    data: { ...shown, projectId: on.projectId },
  }
  tx.append(applicationUse, pairId(userId, appId), [event], tx.owner(app, appId))
}

/**
 * Notes that an application reads the claims of one of its users, at most once a week for all of
 * them, on the conditions of `noteUse`. Where nothing can be saved, claims can still be read: the
 * note is tried again later.
 */
export async function noteClaimsRead(cx: Cx, userId: string, appId: string): Promise<void> {
  const known = lastReads(cx)
  const now = cx.clock.now()
  const last = known.get(appId) ?? cx.store.get(cx, lastRead, { appId })?.time ?? 0
  known.set(appId, last)
  if (now < last + week || !requireInstance(cx).oidc.tokenAudit.people) return
  // Before the step: of the requests that come meanwhile, none notes it once more.
  known.set(appId, now)
  try {
    await cx.store.transact(cx, (tx) => note(tx, { userId, appId, claimsRead: true }))
  } catch (cause) {
    known.set(appId, now - week + retryMs)
    if (!(cause instanceof Fault && cause.code === "unavailable")) throw cause
  }
}

const week = 7 * day
const retryMs = 60_000

/** By the id of the application, ms UTC; every request for claims asks. */
const lastReads = ofInstance(() => lru<number>(4096))

const lastRead = statement<{ time: number | null }>(
  "SELECT max(claims_read) AS time FROM app_uses WHERE instance = $instance AND app = $appId",
)
const lastProfile = statement<{ time: number | null }>(
  "SELECT max(profile) AS time FROM app_uses WHERE instance = $instance AND app = $appId",
)
const lastSignIn = statement<{ time: number | null }>(
  "SELECT max(signed_in) AS time FROM app_uses WHERE instance = $instance AND app = $appId",
)
const latestDropped = statement<{ dropped: string }>(
  `SELECT dropped FROM app_uses WHERE instance = $instance AND app = $appId AND signed_in > $since
   ORDER BY signed_in DESC LIMIT 100`,
)

/** What the latest sign-ins show of an application. */
export function usageOf(cx: Cx, appId: string) {
  const read = cx.store.get(cx, lastRead, { appId })?.time ?? 0
  const profile = cx.store.get(cx, lastProfile, { appId })?.time ?? 0
  // Earlier ones may be from before the application was corrected.
  const since = (cx.store.get(cx, lastSignIn, { appId })?.time ?? 0) - day
  const rows = cx.store.all(cx, latestDropped, { appId, since })
  return {
    /** Scopes that it requested and that were not granted. */
    dropped: [...new Set(rows.flatMap(({ dropped }) => dropped.split(" ").filter(Boolean)))],
    /** Whether it requests the profile and reads it at most in the ID token. */
    isProfileUnread: profile > 0 && profile > read + 2 * week,
  }
}

export type UseRow = {
  readonly app: string
  readonly app_name: string
  readonly user_id: string
  readonly last: number
}

const used = statement(
  `INSERT INTO app_uses (instance, id, user_id, app, project, org, last, profile, claims_read,
     signed_in, dropped)
   VALUES ($instance, $id, $userId, $appId, $projectId, $owner, $time, $profile, $claimsRead,
     $signedIn, coalesce($dropped, ''))
   ON CONFLICT DO UPDATE SET last = excluded.last, profile = max(profile, excluded.profile),
     claims_read = max(claims_read, excluded.claims_read),
     signed_in = max(signed_in, excluded.signed_in), dropped = coalesce($dropped, dropped)`,
)
const remove = statement("DELETE FROM app_uses WHERE instance = $instance AND id = $id")
const removeApp = statement("DELETE FROM app_uses WHERE instance = $instance AND app = $id")
const removeProject = statement("DELETE FROM app_uses WHERE instance = $instance AND project = $id")
const removeUser = statement("DELETE FROM app_uses WHERE instance = $instance AND user_id = $id")

export const applicationUseView = view<UseEvent | AppEvent | ProjectEvent | UserEvent>({
  name: "app_use",
  revision: 2,
  tables: {
    app_uses: {
      columns: `id TEXT NOT NULL, user_id TEXT NOT NULL, app TEXT NOT NULL,
        project TEXT NOT NULL, org TEXT NOT NULL, last INTEGER NOT NULL,
        profile INTEGER NOT NULL, claims_read INTEGER NOT NULL,
        signed_in INTEGER NOT NULL, dropped TEXT NOT NULL`,
      key: "id",
      indexes: {
        user: "user_id",
        app: "app, last",
        project: "project, last",
        org: "org, last",
        last: "last",
        profile: "app, profile",
        claims_read: "app, claims_read",
        signed_in: "app, signed_in",
      },
    },
  },
  on: {
    "application.used": (db, { data: { userId, appId, projectId, signIn, claimsRead }, time }) =>
      db.run(used, {
        ...{ userId, appId, projectId },
        profile: signIn?.profile ? time : 0,
        claimsRead: claimsRead ? time : 0,
        signedIn: signIn ? time : 0,
        dropped: signIn?.dropped.join(" ") ?? null,
      }),
    "project.application.removed": (db) => db.run(removeApp),
    "project.removed": (db) => db.run(removeProject),
    "user.removed": (db) => db.run(removeUser),
  },
  dropped: { app_use: (db) => db.run(remove) },
})

const applicationUses: Searchable = {
  table: "app_uses",
  columns: ["user_id", "app", "project", "org", "last"],
  joined: {
    select: "a.name AS app_name",
    from: "JOIN apps a ON a.instance = t.instance AND a.id = t.app",
    columns: [],
  },
  owner: { org: "org", project: "project" },
  key: "id",
  sort: "last",
}

type Wanted = {
  readonly page: Page
  /** Empty texts stand for any. */
  readonly userId: string
  readonly appId: string
  /** ms UTC. */
  readonly since: number
}

/** Who used what since when, of the applications that the caller may see. */
export const searchUses = (
  cx: Cx,
  { page, userId, appId, since }: Wanted,
): Promise<Found<UseRow>> =>
  search<UseRow>(cx, applicationUses, {
    page,
    filters: [
      ...(userId ? [{ equals: "user_id", value: userId }] : []),
      ...(appId ? [{ equals: "app", value: appId }] : []),
      ...(since ? [{ compare: "last", by: ">=", value: since } as const] : []),
    ],
  })
