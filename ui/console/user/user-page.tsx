import { useParams } from "@tanstack/react-router"
import { lazy } from "react"
import { UserService } from "../../../src/gen/core/user/v2/user_service_pb.ts"
import { Badge } from "../../kit/index.ts"
import { ActivationButton, DeleteSection } from "../form/index.ts"
import { StateBadge } from "../list/index.ts"
import { Page, PagePart, t, useRead, useSelectOwner, useSession } from "../shell/index.ts"
import { UserDetails } from "./about.tsx"
import { Access, ManagedResources } from "./access.tsx"
import { Contact } from "./contact.tsx"
import { Password } from "./password.tsx"
import { ServiceCredentials } from "./service-credentials.tsx"
import { displayNameOf, stateOf, type UserPart } from "./user.ts"

/** Loaded separately, because it imports additional descriptors. */
const Activity = lazy(async () => ({ default: (await import("./activity.tsx")).Activity }))

const { getUserByID, deleteUser } = UserService.method
const { lockUser, unlockUser, deactivateUser, reactivateUser } = UserService.method

/**
 * Ranks of operations on a user: those that change the user, and those that let the caller act as
 * the user.
 */
const actingRanks = ["acting"]
const allRanks = ["user", "stopped", ...actingRanks]

export function UserPage() {
  const { userId } = useParams({ from: "/users/$userId" })
  const { user, outranksYou, outranksYouElsewhere } = useRead(getUserByID, { userId })
  const isOneself = useIsOwnUser(userId)
  useSelectOwner(user?.details?.resourceOwner)
  if (!user) return null
  return (
    <Page
      title={displayNameOf(user)}
      crumbs={[{ label: t("nav.users"), link: { to: "/users" } }]}
      badge={<UserState user={user} />}
      actions={isOneself ? <Badge>{t("users.yourself")}</Badge> : <ActivationActions user={user} />}
      scope={{ higherRanks: outranksYou ? allRanks : outranksYouElsewhere ? actingRanks : [] }}
    >
      {outranksYouElsewhere && (
        <p className="quiet">{t(outranksYou ? "users.outranks" : "users.outranks_elsewhere")}</p>
      )}
      <UserDetails user={user} />
      <Contact user={user} />
      <Password user={user} />
      <ServiceCredentials user={user} />
      <Access user={user} />
      <ManagedResources user={user} />
      <PagePart>
        <Activity user={user} />
      </PagePart>
      {!isOneself && (
        <DeleteSection
          family="users"
          name={displayNameOf(user)}
          by={deleteUser}
          of={{ userId }}
          to={{ to: "/users" }}
        />
      )}
    </Page>
  )
}

function UserState({ user }: UserPart) {
  return (
    <>
      <Badge>{t(user.type.case === "machine" ? "kind.service" : "kind.person")}</Badge>
      <StateBadge state={stateOf(user)} />
    </>
  )
}

/** Actions that can be reverted: locking and deactivating. */
function ActivationActions({ user }: UserPart) {
  const { userId } = user
  const name = displayNameOf(user)
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
          subject={name}
          isOn={state === "active"}
          labels={locking}
          consequence={t("users.lock_text")}
        />
      )}
      {state !== "locked" && (
        <ActivationButton
          on={reactivateUser}
          off={deactivateUser}
          of={{ userId }}
          subject={name}
          isOn={state === "active"}
          consequence={t("users.deactivate_text")}
        />
      )}
    </>
  )
}

function useIsOwnUser(userId: string): boolean {
  const session = useSession()
  return session.status === "signed-in" && session.person.id === userId
}
