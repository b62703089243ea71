import { AssetService } from "../../../src/gen/core/asset/v1/asset_service_pb.ts"
import { AuthService } from "../../../src/gen/core/auth/v1/auth_service_pb.ts"
import { UserSummary } from "../../kit/index.ts"
import { ConfirmButton, FileButton } from "../form/index.ts"
import { call, RefusalAlert, Section, t, useAction } from "../shell/index.ts"
import type { Me } from "./me.ts"

/** The user's profile picture, as other users and applications see it. */
export function Picture({ me: { user, human } }: { readonly me: Me }) {
  const { displayName = "", avatarUrl = "" } = human.profile ?? {}
  return (
    <Section title={t("account.picture")}>
      <div className="row">
        <UserSummary name={displayName} loginName={user.preferredLoginName} picture={avatarUrl} />
        <ChoosePicture />
        {avatarUrl !== "" && (
          <ConfirmButton
            needs="own"
            subject={t("account.picture")}
            consequence={t("account.picture_remove_text")}
            act={() => call(AuthService.method.removeMyAvatar)}
          />
        )}
      </div>
      <p className="quiet small">{t("account.picture_hint")}</p>
    </Section>
  )
}

/** Uploads the file as soon as it is selected; the server validates it. */
function ChoosePicture() {
  const action = useAction(async (file: File) => {
    const data = new Uint8Array(await file.arrayBuffer())
    return call(AssetService.method.uploadMyAvatar, { file: { data } })
  })
  return (
    <>
      <FileButton
        label={t("account.picture_choose")}
        accept="image/png,image/jpeg,image/webp,image/gif"
        busy={action.busy}
        onFile={action.run}
      />
      <RefusalAlert refusal={action.refusal} />
    </>
  )
}
