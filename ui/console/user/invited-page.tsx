import { Badge, Button } from "../../kit/index.ts"
import { LinkButton, Page, type Refusal, RefusalAlert, t } from "../shell/index.ts"
import { InviteLink } from "./invite.tsx"

/** A user who was just created without a password, with the invitation link. */
export type InvitedUser = {
  readonly userId: string
  readonly name: string
  readonly link: string
  /** Why there is no link; the user was created anyway. */
  readonly refusal?: Refusal
}

type InvitedPageProps = { readonly invited: InvitedUser; readonly onAddAnother: () => void }

export function InvitedPage({ invited, onAddAnother }: InvitedPageProps) {
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
          <Button onClick={onAddAnother}>{t("invite.another")}</Button>
        </div>
      </div>
    </Page>
  )
}
