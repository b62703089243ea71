import { ManagementService } from "../../../src/gen/core/management/v1/management_service_pb.ts"
import { Avatar } from "../../kit/person.tsx"
import { ConfirmButton } from "../form/confirm.tsx"
import { call } from "../shell/call.ts"
import { t } from "../shell/text.ts"
import { nameOf, pictureOf, type UserPart } from "./user.ts"

/** People choose it themselves; others may take it away. */
export function Picture({ user }: UserPart) {
  const { removeHumanAvatar } = ManagementService.method
  const { userId } = user
  return (
    <span className="row">
      <Avatar name={nameOf(user)} picture={pictureOf(user)} />
      <ConfirmButton
        small
        needs={removeHumanAvatar}
        label={t("picture.remove")}
        what={nameOf(user)}
        consequence={t("picture.remove_text")}
        act={() => call(removeHumanAvatar, { userId })}
      />
    </span>
  )
}
