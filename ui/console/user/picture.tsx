import { ManagementService } from "../../../src/gen/core/management/v1/management_service_pb.ts"
import { Avatar } from "../../kit/index.ts"
import { ConfirmButton } from "../form/index.ts"
import { call, t } from "../shell/index.ts"
import { displayNameOf, pictureOf, type UserPart } from "./user.ts"

/** The user's picture; administrators can only remove it. */
export function Picture({ user }: UserPart) {
  const { removeHumanAvatar } = ManagementService.method
  const { userId } = user
  return (
    <span className="row">
      <Avatar name={displayNameOf(user)} picture={pictureOf(user)} />
      <ConfirmButton
        small
        needs={removeHumanAvatar}
        label={t("picture.remove")}
        subject={displayNameOf(user)}
        consequence={t("picture.remove_text")}
        act={() => call(removeHumanAvatar, { userId })}
      />
    </span>
  )
}
