import { useState } from "react"
import type { MachineUser } from "../../../src/gen/core/user/v2/user_pb.ts"
import { UserService } from "../../../src/gen/core/user/v2/user_service_pb.ts"
import { ActionButton, ConfirmButton } from "../form/index.ts"
import { OneTimeSecret } from "../list/index.ts"
import { call, copyableFact, Facts, Section, t } from "../shell/index.ts"

type ServiceSecretProps = {
  readonly userId: string
  readonly username: string
  readonly machine: MachineUser
}

const { addSecret, removeSecret } = UserService.method

/** The client secret of a service account; the user name is the client ID. */
export function ServiceSecret({ userId, username, machine }: ServiceSecretProps) {
  const [secret, setSecret] = useState("")
  const make = async () => setSecret((await call(addSecret, { userId })).clientSecret)
  const remove = async () => {
    await call(removeSecret, { userId })
    setSecret("")
  }
  const label = t("secret.client")
  const actions = machine.hasSecret ? (
    <div className="row">
      <ConfirmButton
        needs={addSecret}
        label={t("secret.renew")}
        subject={username}
        consequence={t("service_secret.replace_text")}
        act={make}
      />
      <ConfirmButton
        needs={removeSecret}
        subject={label}
        consequence={t("service_secret.remove_text")}
        act={remove}
      />
    </div>
  ) : (
    <ActionButton needs={addSecret} label={t("service_secret.create")} act={make} />
  )
  return (
    <Section title={label} actions={actions}>
      {machine.hasSecret || secret ? (
        <Facts
          rows={[
            copyableFact(t("field.client_id"), username),
            [label, !secret && <span className="quiet">{t("secret.hidden")}</span>],
          ]}
        />
      ) : (
        <p className="quiet section-lead">{t("service_secret.none")}</p>
      )}
      {secret && <OneTimeSecret title={label} secret={secret} file={`${username}-secret.txt`} />}
    </Section>
  )
}
