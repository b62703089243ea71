import type { ErrorComponentProps } from "@tanstack/react-router"
import { Button } from "../../kit/index.ts"
import { useReload } from "./call.ts"
import { Page } from "./frame.tsx"
import { Gate } from "./gate.tsx"
import { Link } from "./link.tsx"
import { nothingToManage } from "./organization.tsx"
import { refusalOf } from "./refusal.ts"
import { Refused } from "./refused.tsx"
import { signOut } from "./session.ts"
import { t } from "./text.ts"

/** Within the shell, whose places stay beside it; only who has nothing to manage sees none. */
export function FailedPage(props: ErrorComponentProps) {
  if (props.error === nothingToManage) throw props.error
  return <Failed {...props} />
}

/** A page that can't be shown: why, and a way to try again. */
export function Failed({ error, reset }: ErrorComponentProps) {
  const reload = useReload()
  if (error === nothingToManage) return <NothingHere />
  const again = async () => {
    await reload()
    reset()
  }
  return (
    <Page title={t("detail.failed")}>
      <Refused refusal={refusalOf(error)} />
      <div className="row">
        <Button onClick={() => void again()}>{t("gate.retry")}</Button>
      </div>
    </Page>
  )
}

/** For who is signed in and manages nothing: the way to their account. */
export function NothingHere() {
  return (
    <Gate title={t("gate.no_organization")} action={t("nav.sign_out")} onAct={() => void signOut()}>
      {t("gate.no_organization_text")} <Link to="/account">{t("gate.account")}</Link>
    </Gate>
  )
}
