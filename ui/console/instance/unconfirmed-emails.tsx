import { useState } from "react"
import {
  type UnconfirmedEmail,
  UserService,
} from "../../../src/gen/core/user/v2/user_service_pb.ts"
import { Badge, Button, type Column, Table } from "../../kit/index.ts"
import { ConfirmButton } from "../form/index.ts"
import { call, Link, Section, t, useReadIfAllowed } from "../shell/index.ts"

const { listUnconfirmedEmails, confirmEmails } = UserService.method
const usersMax = 100

/**
 * Users whose address only their own organization has verified, to confirm it for the whole
 * instance; hidden if there are none.
 */
export function UnconfirmedEmails() {
  const [afterUserId, setAfter] = useState("")
  const found = useReadIfAllowed(listUnconfirmedEmails, { limit: usersMax, afterUserId })
  if (!found || (found.count === 0 && afterUserId === "")) return null
  const { users, count } = found
  const emails = users
    .filter(({ isShared }) => !isShared)
    .map(({ userId, email }) => ({ userId, email }))
  const last = users.at(-1)?.userId
  const shown = { count: users.length, total: count < 1000 ? String(count) : "1000+" }
  return (
    <Section title={t("unconfirmed_emails.title")}>
      <p className="quiet section-lead">{t("unconfirmed_emails.lead")}</p>
      <p>{t("unconfirmed_emails.count", shown)}</p>
      <Table
        caption={t("unconfirmed_emails.title")}
        columns={emailColumns()}
        rows={users}
        keyOf={({ userId }) => userId}
      />
      <div className="form-actions">
        {emails.length > 0 && (
          <ConfirmButton
            needs={confirmEmails}
            label={t("unconfirmed_emails.confirm", { count: emails.length })}
            subject={t("unconfirmed_emails.what", { count: emails.length })}
            consequence={t("unconfirmed_emails.consequence")}
            act={() => call(confirmEmails, { emails })}
          />
        )}
        {last !== undefined && count > users.length && (
          <Button onClick={() => setAfter(last)}>{t("unconfirmed_emails.next")}</Button>
        )}
        {afterUserId !== "" && (
          <Button onClick={() => setAfter("")}>{t("unconfirmed_emails.first")}</Button>
        )}
      </div>
    </Section>
  )
}

const emailColumns = (): readonly Column<UnconfirmedEmail>[] => [
  {
    label: t("search.user"),
    cell: ({ userId, loginName }) => (
      <Link to="/users/$userId" params={{ userId }}>
        {loginName}
      </Link>
    ),
  },
  {
    label: t("unconfirmed_emails.address"),
    cell: ({ email, isShared }) => (
      <>
        {email} {isShared && <Badge>{t("unconfirmed_emails.shared")}</Badge>}
      </>
    ),
  },
]
