import { useParams } from "@tanstack/react-router"
import { lazy } from "react"
import { UserService } from "../../../src/gen/core/user/v2/user_service_pb.ts"
import { Badge } from "../../kit/index.ts"
import { ActivationButton, DeleteSection } from "../form/index.ts"
import { StateBadge } from "../list/index.ts"
import { Page, Part, t, useBelongsTo, useRead, useSession } from "../shell/index.ts"
import { About } from "./about.tsx"
import { Access, Duties } from "./access.tsx"
import { Contact } from "./contact.tsx"
import { Password } from "./password.tsx"
import { ServiceCredentials } from "./service-credentials.tsx"
import { nameOf, stateOf, type UserPart } from "./user.ts"

/** Loaded beside the rest: what it reads of has descriptors of its own. */
const Activity = lazy(async () => ({ default: (await import("./activity.tsx")).Activity }))

const { getUserByID, deleteUser } = UserService.method
const { lockUser, unlockUser, deactivateUser, reactivateUser } = UserService.method

/** Ranks of operations on somebody: what changes them, what gives a way to act as them. */
const acting = ["acting"]
const all = ["user", "stopped", ...acting]

export function UserPage() {
  const { userId } = useParams({ from: "/users/$userId" })
  const { user, outranksYou, outranksYouElsewhere } = useRead(getUserByID, { userId })
  const isOneself = useIsOneself(userId)
  useBelongsTo(user?.details?.resourceOwner)
  if (!user) return null
  return (
    <Page
      title={nameOf(user)}
      crumbs={[{ label: t("nav.users"), link: { to: "/users" } }]}
      badge={<State user={user} />}
      actions={isOneself ? <Badge>{t("users.yourself")}</Badge> : <Turns user={user} />}
      scope={{ below: outranksYou ? all : outranksYouElsewhere ? acting : [] }}
    >
      {outranksYouElsewhere && (
        <p className="quiet">{t(outranksYou ? "users.outranks" : "users.outranks_elsewhere")}</p>
      )}
      <About user={user} />
      <Contact user={user} />
      <Password user={user} />
      <ServiceCredentials user={user} />
      <Access user={user} />
      <Duties user={user} />
      <Part>
        <Activity user={user} />
      </Part>
      {!isOneself && (
        <DeleteSection
          family="users"
          name={nameOf(user)}
          by={deleteUser}
          of={{ userId }}
          to={{ to: "/users" }}
        />
      )}
    </Page>
  )
}

function State({ user }: UserPart) {
  return (
    <>
      <Badge>{t(user.type.case === "machine" ? "kind.service" : "kind.person")}</Badge>
      <StateBadge state={stateOf(user)} />
    </>
  )
}

/** What can be undone again: locking out, switching off. */
function Turns({ user }: UserPart) {
  const { userId } = user
  const name = nameOf(user)
  const state = stateOf(user)
  const locking = {
    on: t("users.unlock"),
    off: t("users.lock"),
    told: t("users.locked", { name }),
  }
  return (
    <>
      {state !== "inactive" && (
        <ActivationButton
          on={unlockUser}
          off={lockUser}
          of={{ userId }}
          what={name}
          isOn={state === "active"}
          words={locking}
          consequence={t("users.lock_text")}
        />
      )}
      {state !== "locked" && (
        <ActivationButton
          on={reactivateUser}
          off={deactivateUser}
          of={{ userId }}
          what={name}
          isOn={state === "active"}
          consequence={t("users.deactivate_text")}
        />
      )}
    </>
  )
}

function useIsOneself(userId: string): boolean {
  const session = useSession()
  return session.status === "signed-in" && session.person.id === userId
}
