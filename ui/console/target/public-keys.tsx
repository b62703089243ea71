import { timestampFromMs } from "@bufbuild/protobuf/wkt"
import { ActionService } from "../../../src/gen/core/action/v2/action_service_pb.ts"
import { ActivationButton, defineForm } from "../form/index.ts"
import { Collection, paginationOf, StateBadge, Time, toPage } from "../list/index.ts"
import { call, t } from "../shell/index.ts"

const { listPublicKeys, addPublicKey, removePublicKey } = ActionService.method
const { activatePublicKey, deactivatePublicKey } = ActionService.method

type PublicKeysProps = { readonly targetId: string }

/** Public keys of a target; payloads are encrypted with the active one. */
export function PublicKeys({ targetId }: PublicKeysProps) {
  return (
    <Collection
      family="public_keys"
      unsearched
      method={listPublicKeys}
      toRequest={(query) => ({ targetId, pagination: paginationOf(query) })}
      find={({ publicKeys, pagination }) => toPage(publicKeys, pagination)}
      columns={[
        {
          label: t("public_keys.fingerprint"),
          cell: ({ fingerprint }) => <code>{fingerprint}</code>,
        },
        { label: t("field.state"), cell: ({ active }) => <StateBadge isOn={active} /> },
        { label: t("field.expires"), cell: ({ expirationDate }) => <Time at={expirationDate} /> },
      ]}
      keyOf={({ keyId }) => keyId}
      nameOf={({ fingerprint }) => fingerprint}
      needs={{ create: addPublicKey, remove: removePublicKey }}
      form={() => keyForm(targetId)}
      turn={({ keyId, active }, options) => (
        <ActivationButton
          {...options}
          on={activatePublicKey}
          off={deactivatePublicKey}
          of={{ targetId, keyId }}
          isOn={active}
          consequence={t("public_keys.off")}
        />
      )}
      remove={({ keyId }) => call(removePublicKey, { targetId, keyId })}
    />
  )
}

const keyForm = (targetId: string) =>
  defineForm({
    initial: { publicKey: "", until: "" },
    refusals: { publicKey: ["target.key"], until: ["target.key_expired"] },
    save: ({ publicKey, until }) =>
      call(addPublicKey, {
        targetId,
        publicKey: new TextEncoder().encode(publicKey.trim()),
        ...(until && { expirationDate: timestampFromMs(Date.parse(until)) }),
      }),
    fields: ({ area, text }) => [
      area("publicKey", t("public_keys.pem"), {
        rows: 6,
        maxLength: 8192,
        spellCheck: false,
        required: true,
        hint: t("public_keys.pem_hint"),
        placeholder: "-----BEGIN PUBLIC KEY-----",
      }),
      text("until", t("field.expires"), { type: "date", optional: true }),
    ],
  })
