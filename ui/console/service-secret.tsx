import { useState } from "react"
import type { MachineUser } from "../../src/gen/core/user/v2/user_pb.ts"
import { Button } from "../kit/button.tsx"
import { Dialog } from "../kit/dialog.tsx"
import { ActionButton, ConfirmButton } from "./confirm.tsx"
import { Copyable, Section } from "./detail.tsx"
import { ActionForm } from "./form.tsx"
import { useHouse } from "./house.ts"
import { type Changed, useAction } from "./load.ts"
import { OnceBox } from "./once-box.tsx"

type ServiceSecretProps = {
  readonly userId: string
  readonly username: string
  readonly machine: MachineUser
  readonly onChanged: Changed
}

/** The client secret of a service user; its user name is its client id. */
export function ServiceSecret({ userId, username, machine, onChanged }: ServiceSecretProps) {
  const { t, core } = useHouse()
  const [secret, setSecret] = useState("")
  const make = async () => {
    const { clientSecret } = await core.users.addSecret({ userId })
    setSecret(clientSecret)
    await onChanged()
  }
  const remove = async () => {
    await core.users.removeSecret({ userId })
    setSecret("")
    await onChanged()
  }
  const actions = machine.hasSecret ? (
    <div className="row">
      <ConfirmButton
        label={t("action.remove")}
        what={t("secret.client")}
        consequence={t("service_secret.remove_text")}
        act={remove}
      />
      <Replace act={make} />
    </div>
  ) : (
    <ActionButton label={t("service_secret.create")} act={make} />
  )
  return (
    <Section title={t("secret.client")} actions={actions}>
      {machine.hasSecret || secret ? (
        <dl className="facts">
          <dt>{t("field.client_id")}</dt>
          <dd>
            <Copyable value={username} what={t("field.client_id")} />
          </dd>
          {!secret && (
            <>
              <dt>{t("secret.client")}</dt>
              <dd className="quiet">{t("secret.hidden")}</dd>
            </>
          )}
        </dl>
      ) : (
        <p className="quiet section-lead">{t("service_secret.none")}</p>
      )}
      {secret && (
        <OnceBox title={t("secret.client")} secret={secret} file={`${username}-secret.txt`} />
      )}
    </Section>
  )
}

/** A service user has one secret: the program stops until it knows the new one. */
function Replace({ act }: { readonly act: () => Promise<void> }) {
  const { t } = useHouse()
  const [open, setOpen] = useState(false)
  const close = () => setOpen(false)
  const action = useAction(async () => {
    await act()
    close()
  })
  const title = t("secret.renew")
  return (
    <>
      <Button onClick={() => setOpen(true)}>{title}</Button>
      {open && (
        <Dialog title={title} onClose={close}>
          <ActionForm action={action} submit={title} onCancel={close}>
            <p>{t("service_secret.replace_text")}</p>
          </ActionForm>
        </Dialog>
      )}
    </>
  )
}
