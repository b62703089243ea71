import { type Timestamp, timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt"
import { useState } from "react"
import type { Session } from "../../../src/gen/core/session/v2/session_pb.ts"
import { SessionService } from "../../../src/gen/core/session/v2/session_service_pb.ts"
import { TimestampQueryMethod } from "../../../src/gen/core/v1/time_pb.ts"
import { Badge } from "../../kit/index.ts"
import { ConfirmButton } from "../form/index.ts"
import { FailedSignIns, formatOrigin, SignInOrigin, Time } from "../list/index.ts"
import { call, Page, PagePart, Section, t, useRead, useSession } from "../shell/index.ts"
import { ConnectedApplications } from "./connected-applications.tsx"
import { useMe } from "./me.ts"

/** Active sessions, connected applications and failed sign-ins of the user. */
export function SessionsPage() {
  const [since] = useState(() => timestampFromMs(Date.now()))
  const me = useMe()
  if (!me) return null
  return (
    <Page title={t("nav.sessions")} narrow>
      <PagePart>
        <Sessions userId={me.user.id} since={since} />
      </PagePart>
      <PagePart>
        <ConnectedApplications />
      </PagePart>
      <PagePart>
        <FailedSignIns userId={me.user.id} />
      </PagePart>
    </Page>
  )
}

/** Limit of displayed sessions; further ones appear after some have ended. */
const sessionsMax = 100

const endSession = (sessionId: string) => call(SessionService.method.deleteSession, { sessionId })

/** Sessions that had not expired at `since`, which stays constant while they are read. */
type SessionsProps = { readonly userId: string; readonly since: Timestamp }

function Sessions({ userId, since: expirationDate }: SessionsProps) {
  const session = useSession()
  const here = session.status === "signed-in" ? session.person.sessionId : ""
  const method = TimestampQueryMethod.GREATER
  const { sessions } = useRead(SessionService.method.listSessions, {
    query: { limit: sessionsMax },
    queries: [
      { query: { case: "userIdQuery", value: { id: userId } } },
      { query: { case: "expirationDateQuery", value: { expirationDate, method } } },
    ],
  })
  const others = sessions.filter(({ id }) => id !== here)
  const own = sessions.filter(({ id }) => id === here)
  const endOthers = async () => {
    for (const { id } of others) await endSession(id)
  }
  const actions = others.length > 0 && (
    <ConfirmButton
      needs="own"
      small
      label={t("account.sessions.end_all")}
      subject={t("account.sessions.others", { count: others.length })}
      consequence={t("account.sessions.end_all_text")}
      act={endOthers}
    />
  )
  return (
    <Section title={t("sessions.title")} actions={actions}>
      <p className="quiet section-lead">{t("account.sessions.text")}</p>
      <ul className="way-list">
        {[...own, ...others.toSorted((a, b) => usedAt(b) - usedAt(a))].map((each) => (
          <SessionRow key={each.id} session={each} isHere={each.id === here} />
        ))}
      </ul>
    </Section>
  )
}

const usedAt = ({ changeDate }: Session): number => (changeDate ? timestampMs(changeDate) : 0)

type RowProps = { readonly session: Session; readonly isHere: boolean }

function SessionRow({
  session: { id, userAgent, creationDate, changeDate },
  isHere: isCurrent,
}: RowProps) {
  return (
    <li>
      <div className="way-text">
        <p>
          <SignInOrigin userAgent={userAgent} />{" "}
          {isCurrent && <Badge tone="done">{t("account.sessions.here")}</Badge>}
        </p>
        <p className="quiet small">
          {t("sessions.since")} <Time at={creationDate} /> · {t("account.sessions.used")}{" "}
          <Time at={changeDate} />
        </p>
      </div>
      {!isCurrent && (
        <ConfirmButton
          needs="own"
          small
          label={t("nav.sign_out")}
          subject={formatOrigin(userAgent)}
          consequence={t("account.sessions.end_text")}
          act={() => endSession(id)}
        />
      )}
    </li>
  )
}
