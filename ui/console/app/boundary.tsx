import type { ErrorComponentProps } from "@tanstack/react-router"
import { Button } from "../../kit/index.ts"
import { useReload } from "../shell/call.ts"
import { Page } from "../shell/frame.tsx"
import { Link } from "../shell/link.tsx"
import { nothingToManageError } from "../shell/organization.tsx"
import { refusalOf } from "../shell/refusal.ts"
import { RefusalAlert } from "../shell/refusal-alert.tsx"
import { signOut } from "../shell/session.ts"
import { t } from "../shell/text.ts"
import { Gate } from "./gate.tsx"

/** An error within the layout, so that the navigation stays visible. */
export function FailedPage(props: ErrorComponentProps) {
  if (props.error === nothingToManageError) throw props.error
  return <Failed {...props} />
}

/** A page that failed to load, with the reason and a retry button. */
export function Failed({ error, reset }: ErrorComponentProps) {
  const reload = useReload()
  if (error === nothingToManageError) return <NothingToManage />
  const again = async () => {
    await reload()
    reset()
  }
  return (
    <Page title={t("detail.failed")}>
      <RefusalAlert refusal={refusalOf(error)} />
      <div className="row">
        <Button onClick={() => void again()}>{t("gate.retry")}</Button>
      </div>
    </Page>
  )
}

/** For signed-in users without permissions: a link to their account. */
export function NothingToManage() {
  return (
    <Gate title={t("gate.no_organization")} action={t("nav.sign_out")} onAct={() => void signOut()}>
      {t("gate.no_organization_text")} <Link to="/account">{t("gate.account")}</Link>
    </Gate>
  )
}
