import { AuthService } from "../../../src/gen/core/auth/v1/auth_service_pb.ts"
import { Button } from "../../kit/index.ts"
import { DeleteButton } from "../form/index.ts"
import {
  call,
  Page,
  Part,
  RefusalAlert,
  Section,
  saveFile,
  signedOut,
  t,
  useAction,
  usePermissions,
} from "../shell/index.ts"
import { useMe } from "./me.ts"
import { ownData } from "./own-data.ts"

/** What is kept of one: to take along, and to remove where one may. */
export function DataPage() {
  const me = useMe()
  if (!me) return null
  const { id, preferredLoginName } = me.user
  return (
    <Page title={t("nav.data")} narrow>
      <Download userId={id} />
      <Part rows={1}>
        <Remove loginName={preferredLoginName} />
      </Part>
    </Page>
  )
}

function Download({ userId }: { readonly userId: string }) {
  const action = useAction(async () => {
    const data = JSON.stringify(await ownData(userId), null, 2)
    saveFile("my-account.json", data, "application/json")
  })
  return (
    <Section title={t("account.data.title")}>
      <p className="quiet section-lead">{t("account.data.text")}</p>
      <div className="row">
        <Button disabled={action.busy} onClick={() => action.run()}>
          {t("account.data.download")}
        </Button>
      </div>
      <RefusalAlert refusal={action.refusal} />
    </Section>
  )
}

/** Where the organisation lets its people remove themselves; nothing says so where it doesn't. */
function Remove({ loginName }: { readonly loginName: string }) {
  if (!usePermissions().includes("user.self.delete")) return null
  const act = async () => {
    await call(AuthService.method.removeMyUser)
    signedOut()
  }
  return (
    <Section title={t("delete.section")}>
      <p className="quiet section-lead">{t("account.delete_text")}</p>
      <div className="row">
        <DeleteButton
          needs="own"
          name={loginName}
          title={t("account.delete")}
          consequence={t("account.delete_text")}
          act={act}
        />
      </div>
    </Section>
  )
}
