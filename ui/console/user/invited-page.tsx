import { Badge, Button } from "../../kit/index.ts"
import { LinkButton, Page, type Refusal, RefusalAlert, t } from "../shell/index.ts"
import { InviteLink } from "./invite.tsx"

/** Somebody who has just been added without a password, and the link that lets them in. */
export type InvitedUser = {
  readonly userId: string
  readonly name: string
  readonly link: string
  /** Why there is no link: the person is there all the same. */
  readonly refusal?: Refusal
}

type InvitedPageProps = { readonly invited: InvitedUser; readonly again: () => void }

export function InvitedPage({ invited, again }: InvitedPageProps) {
  const { userId, name, link, refusal } = invited
  return (
    <Page
      title={name}
      crumbs={[{ label: t("nav.users"), link: { to: "/users" } }]}
      badge={link && <Badge tone="warning">{t("invite.waiting")}</Badge>}
      narrow
    >
      <div className="stack">
        <p>{t("invite.made", { name })}</p>
        {link && <InviteLink link={link} />}
        <RefusalAlert refusal={refusal} />
        <div className="form-actions">
          <LinkButton kind="primary" to="/users/$userId" params={{ userId }}>
            {t("invite.to_person")}
          </LinkButton>
          <Button onClick={again}>{t("invite.another")}</Button>
        </div>
      </div>
    </Page>
  )
}
