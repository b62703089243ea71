import { AuthService } from "../../../src/gen/core/auth/v1/auth_service_pb.ts"
import { Button } from "../../kit/index.ts"
import { DeleteButton } from "../form/index.ts"
import {
  call,
  handleAccountRemoved,
  Page,
  PagePart,
  RefusalAlert,
  Section,
  saveFile,
  t,
  useAction,
  usePermissions,
} from "../shell/index.ts"
import { useMe } from "./me.ts"
import { fetchOwnData } from "./own-data.ts"

/** Stored personal data: download, and deletion of the account where allowed. */
export function DataPage() {
  const me = useMe()
  if (!me) return null
  const { id, preferredLoginName } = me.user
  return (
    <Page title={t("nav.data")} narrow>
      <DownloadData userId={id} />
      <PagePart rows={1}>
        <RemoveAccount loginName={preferredLoginName} />
      </PagePart>
    </Page>
  )
}

function DownloadData({ userId }: { readonly userId: string }) {
  const action = useAction(async () => {
    const data = JSON.stringify(await fetchOwnData(userId), null, 2)
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

/** Shown only if the organization lets users remove their own account. */
function RemoveAccount({ loginName }: { readonly loginName: string }) {
  if (!usePermissions().includes("user.self.delete")) return null
  const act = async () => {
    await call(AuthService.method.removeMyUser)
    handleAccountRemoved()
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
