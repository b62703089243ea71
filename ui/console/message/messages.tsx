import type { MessageInitShape } from "@bufbuild/protobuf"
import type { ReactNode } from "react"
import {
  type ListMessagesRequestSchema,
  type Message,
  MessageService,
  MessageStatus,
} from "../../../src/gen/core/message/v2/message_service_pb.ts"
import { Badge } from "../../kit/index.ts"
import { ActionButton } from "../form/index.ts"
import { actionColumn, Clip, type ListColumn, Listing, Time, toPage } from "../list/index.ts"
import { call, has, Link, notify, t } from "../shell/index.ts"
import { ViewMessage } from "./view-message.tsx"

const { listMessages, sendMessageAgain } = MessageService.method

type MessagesProps = {
  readonly name?: string
  /** The recipient or organization. */
  readonly filter: Pick<
    MessageInitShape<typeof ListMessagesRequestSchema>,
    "userId" | "organizationId" | "status"
  >
  readonly filters?: ReactNode
  readonly filtered?: boolean
  readonly empty: ReactNode
  readonly frame?: (list: ReactNode) => ReactNode
}

/** Messages to users with their delivery state, newest first. */
export function Messages({ filter, ...list }: MessagesProps) {
  const isOfOne = filter.userId !== undefined
  return (
    <Listing
      {...list}
      unsearched
      live
      caption={t("messages.title")}
      method={listMessages}
      toRequest={({ offset, limit }) => ({ ...filter, pagination: { offset, limit } })}
      find={({ messages, pagination }) => toPage(messages, pagination)}
      columns={isOfOne ? messageColumns() : [...messageColumns("to"), messageActions()]}
      keyOf={({ id }) => id}
    />
  )
}

const messageColumns = (to?: "to"): readonly ListColumn<Message>[] => {
  const recipient: ListColumn<Message> = {
    label: t("messages.to"),
    cell: ({ userId, recipient: address }) => (
      <Link to="/users/$userId" params={{ userId }}>
        <Clip text={address} />
      </Link>
    ),
  }
  return [
    { label: t("messages.kind"), cell: ({ kind }) => kindLabel(kind) },
    ...(to ? [recipient] : []),
    { label: t("field.state"), cell: (message) => <MessageState message={message} /> },
    { label: t("messages.written"), cell: ({ creationDate }) => <Time at={creationDate} /> },
    ...(to ? [] : [messageActions()]),
  ]
}

/** The title of a message kind; the plain name for an unknown kind. */
export function kindLabel(kind: string): string {
  const key = `messages.kind.${kind}`
  return has(key) ? t(key) : kind
}

type StateName = keyof typeof tones

const states: Readonly<Record<number, StateName>> = {
  [MessageStatus.SENT]: "sent",
  [MessageStatus.FAILED]: "failed",
  [MessageStatus.OBSOLETE]: "obsolete",
}

const tones = { queued: "quiet", sent: "done", failed: "warning", obsolete: "quiet" } as const

function MessageState({ message: { status, error } }: { readonly message: Message }) {
  const state = states[status] ?? "queued"
  return (
    <>
      <Badge tone={tones[state]}>{t(`messages.state.${state}`)}</Badge>
      {error && <span className="quiet small message-error">{error}</span>}
    </>
  )
}

const messageActions = () =>
  actionColumn((message: Message) => (
    <>
      <ViewMessage message={message} title={kindLabel(message.kind)} />
      {message.status !== MessageStatus.QUEUED && <SendAgainButton message={message} />}
    </>
  ))

function SendAgainButton({ message: { userId, id, recipient } }: { readonly message: Message }) {
  return (
    <ActionButton
      small
      needs={sendMessageAgain}
      label={t("messages.again")}
      act={() => call(sendMessageAgain, { userId, messageId: id })}
      done={() => notify({ text: t("messages.again_told", { address: recipient }) })}
    />
  )
}
