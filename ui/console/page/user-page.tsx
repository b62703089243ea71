import type { User } from "../../../src/gen/core/user/v2/user_pb.ts"
import { Badge } from "../../kit/badge.tsx"
import { ActionButton, DeleteButton } from "../confirm.tsx"
import { Detail, Section } from "../detail.tsx"
import { History } from "../history.tsx"
import { useHouse } from "../house.ts"
import { type Readings, useJoined, useLoad, useReadings } from "../load.ts"
import { Metadata } from "../metadata.tsx"
import { PageFrame } from "../page-frame.tsx"
import { go } from "../route.ts"
import { ServiceKeys } from "../service-keys.tsx"
import { ServiceSecret } from "../service-secret.tsx"
import { ServiceTokenType } from "../service-token-type.tsx"
import { ServiceTokens } from "../service-tokens.tsx"
import { StateBadge } from "../state-badge.tsx"
import { About } from "../user/about.tsx"
import { Contact } from "../user/contact.tsx"
import type { UserPart } from "../user/part.ts"
import { Password } from "../user/password.tsx"
import { nameOf, stateOf } from "../user.ts"

export function UserPage({ userId }: { readonly userId: string }) {
  const { t, core } = useHouse()
  const crumbs = [{ label: t("nav.users"), to: { page: "users" } as const }]
  const loaded = useLoad(`user ${userId}`, "", async (signal) => {
    const { user } = await core.users.getUserByID({ userId }, { signal })
    if (!user) throw new Error(t("detail.failed"))
    return user
  })
  const readings = useReadings()
  useJoined(readings, loaded.reload)
  const onChanged = readings.reload
  return (
    <Detail loaded={loaded} crumbs={crumbs}>
      {(user) => (
        <PageFrame
          title={nameOf(user)}
          crumbs={crumbs}
          badge={<State user={user} />}
          actions={<Turns {...{ user, onChanged }} />}
        >
          <About {...{ user, onChanged }} />
          <Contact {...{ user, onChanged }} />
          <Password {...{ user, onChanged }} />
          <Credentials {...{ user, onChanged, readings }} />
          <Metadata
            about={`user ${userId}`}
            readings={readings}
            read={(asked, options) => core.users.listUserMetadata({ ...asked, userId }, options)}
            set={(metadata) => core.users.setUserMetadata({ userId, metadata })}
            remove={(keys) => core.users.deleteUserMetadata({ userId, keys })}
          />
          <History
            about={`user ${userId}`}
            readings={readings}
            read={(asked, options) =>
              core.management.listUserChanges({ ...asked, userId }, options)
            }
          />
          <Remove user={user} />
        </PageFrame>
      )}
    </Detail>
  )
}

function State({ user }: { readonly user: User }) {
  const { t } = useHouse()
  return (
    <>
      <Badge>{t(user.type.case === "machine" ? "kind.service" : "kind.person")}</Badge>
      <StateBadge state={stateOf(user)} />
    </>
  )
}

/** What a service user proves itself with, from the safest to the simplest. */
function Credentials({ user, onChanged, readings }: UserPart & { readonly readings: Readings }) {
  const { userId, username, type } = user
  if (type.case !== "machine") return null
  return (
    <>
      <ServiceKeys {...{ userId, readings }} />
      <ServiceSecret {...{ userId, username, machine: type.value, onChanged }} />
      <ServiceTokens {...{ userId, readings }} />
      <ServiceTokenType {...{ userId, type: type.value.accessTokenType, onChanged }} />
    </>
  )
}

/** What can be undone again: locking out, switching off. */
function Turns({ user, onChanged }: UserPart) {
  const { t, core, signedIn } = useHouse()
  const { userId } = user
  const state = stateOf(user)
  if (userId === signedIn.person.id) return <Badge>{t("users.yourself")}</Badge>
  const then = (call: (wanted: { userId: string }) => Promise<unknown>) => async () => {
    await call({ userId })
    await onChanged()
  }
  if (state === "locked") {
    return <ActionButton label={t("users.unlock")} act={then(core.users.unlockUser)} />
  }
  if (state === "inactive") {
    return <ActionButton label={t("action.activate")} act={then(core.users.reactivateUser)} />
  }
  return (
    <>
      <ActionButton label={t("users.lock")} act={then(core.users.lockUser)} />
      <ActionButton label={t("action.deactivate")} act={then(core.users.deactivateUser)} />
    </>
  )
}

function Remove({ user }: { readonly user: User }) {
  const { t, core, signedIn } = useHouse()
  const { userId } = user
  if (userId === signedIn.person.id) return null
  const act = async () => {
    await core.users.deleteUser({ userId })
    go({ page: "users" }, "replace")
  }
  return (
    <Section title={t("delete.section")}>
      <p className="quiet">{t("users.delete_text")}</p>
      <div className="row">
        <DeleteButton
          name={nameOf(user)}
          title={t("users.delete")}
          consequence={t("users.delete_text")}
          act={act}
        />
      </div>
    </Section>
  )
}
