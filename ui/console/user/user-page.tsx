import { useNavigate, useParams } from "@tanstack/react-router"
import { lazy } from "react"
import type { User } from "../../../src/gen/core/user/v2/user_pb.ts"
import { UserService } from "../../../src/gen/core/user/v2/user_service_pb.ts"
import { Badge } from "../../kit/badge.tsx"
import { DeleteSection, TurnButton } from "../form/confirm.tsx"
import { StateBadge } from "../list/state-badge.tsx"
import { call, useRead } from "../shell/call.ts"
import { Page } from "../shell/frame.tsx"
import { useBelongsTo } from "../shell/organization.tsx"
import { Part } from "../shell/part.tsx"
import { useSession } from "../shell/session.ts"
import { useText } from "../shell/text.ts"
import { About } from "./about.tsx"
import { Access, Duties } from "./access.tsx"
import { Contact } from "./contact.tsx"
import type { UserPart } from "./part.ts"
import { Password } from "./password.tsx"
import { ServiceKeys } from "./service-keys.tsx"
import { ServiceSecret } from "./service-secret.tsx"
import { ServiceTokenType } from "./service-token-type.tsx"
import { ServiceTokens } from "./service-tokens.tsx"
import { nameOf, stateOf } from "./user.ts"

/** Loaded beside the rest: what it reads of has descriptors of its own. */
const Activity = lazy(async () => ({ default: (await import("./activity.tsx")).Activity }))

export function UserPage() {
  const { t } = useText()
  const { userId } = useParams({ from: "/users/$userId" })
  const { user } = useRead(UserService.method.getUserByID, { userId })
  useBelongsTo(user?.details?.resourceOwner)
  if (!user) return null
  return (
    <Page
      title={nameOf(user)}
      crumbs={[{ label: t("nav.users"), link: { to: "/users" } }]}
      badge={<State user={user} />}
      actions={<Turns user={user} />}
    >
      <About user={user} />
      <Contact user={user} />
      <Password user={user} />
      <Credentials user={user} />
      <Access user={user} />
      <Duties user={user} />
      <Part>
        <Activity user={user} />
      </Part>
      <Remove user={user} />
    </Page>
  )
}

function State({ user }: UserPart) {
  const { t } = useText()
  return (
    <>
      <Badge>{t(user.type.case === "machine" ? "kind.service" : "kind.person")}</Badge>
      <StateBadge state={stateOf(user)} />
    </>
  )
}

/** What a service user proves itself with, from the safest to the simplest. */
function Credentials({ user }: UserPart) {
  const { userId, username, type } = user
  if (type.case !== "machine") return null
  return (
    <>
      <ServiceKeys userId={userId} />
      <ServiceSecret {...{ userId, username, machine: type.value }} />
      <ServiceTokens userId={userId} />
      <ServiceTokenType {...{ userId, type: type.value.accessTokenType }} />
    </>
  )
}

/** What can be undone again: locking out, switching off. */
function Turns({ user }: UserPart) {
  const { t } = useText()
  const isOneself = useIsOneself(user)
  const { userId } = user
  const name = nameOf(user)
  const state = stateOf(user)
  if (isOneself) return <Badge>{t("users.yourself")}</Badge>
  const { lockUser, unlockUser, deactivateUser, reactivateUser } = UserService.method
  const locking = {
    on: t("users.unlock"),
    off: t("users.lock"),
    told: t("users.locked", { name }),
  }
  return (
    <>
      {state !== "inactive" && (
        <TurnButton
          needs={lockUser}
          what={name}
          isOn={state === "active"}
          words={locking}
          consequence={t("users.lock_text")}
          act={(on) => (on ? call(unlockUser, { userId }) : call(lockUser, { userId }))}
        />
      )}
      {state !== "locked" && (
        <TurnButton
          needs={deactivateUser}
          what={name}
          isOn={state === "active"}
          consequence={t("users.deactivate_text")}
          act={(on) => (on ? call(reactivateUser, { userId }) : call(deactivateUser, { userId }))}
        />
      )}
    </>
  )
}

function useIsOneself({ userId }: User): boolean {
  const session = useSession()
  return session.status === "signed-in" && session.person.id === userId
}

function Remove({ user }: UserPart) {
  const { t } = useText()
  const navigate = useNavigate()
  const { userId } = user
  if (useIsOneself(user)) return null
  const act = async () => {
    await call(UserService.method.deleteUser, { userId })
    await navigate({ to: "/users", replace: true })
  }
  return (
    <DeleteSection
      needs={UserService.method.deleteUser}
      name={nameOf(user)}
      title={t("users.delete")}
      consequence={t("users.delete_text")}
      act={act}
    />
  )
}
