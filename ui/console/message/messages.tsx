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
import { actionColumn, Clip, found, type ListColumn, Listing, Time } from "../list/index.ts"
import { call, has, Link, notify, t } from "../shell/index.ts"
import { ViewMessage } from "./view-message.tsx"

const { listMessages, sendMessageAgain } = MessageService.method

type MessagesProps = {
  readonly name?: string
  /** Whose messages. */
  readonly ask: Pick<
    MessageInitShape<typeof ListMessagesRequestSchema>,
    "userId" | "organizationId" | "status"
  >
  readonly filters?: ReactNode
  readonly filtered?: boolean
  readonly empty: ReactNode
  readonly frame?: (list: ReactNode) => ReactNode
}

/** What was written to people, the newest first, and what became of it. */
export function Messages({ ask: whose, ...list }: MessagesProps) {
  const isOfOne = whose.userId !== undefined
  return (
    <Listing
      {...list}
      unsearched
      live
      caption={t("messages.title")}
      method={listMessages}
      ask={({ offset, limit }) => ({ ...whose, pagination: { offset, limit } })}
      find={({ messages, pagination }) => found(messages, pagination)}
      columns={isOfOne ? columnsOf() : [...columnsOf("to"), actions()]}
      keyOf={({ id }) => id}
    />
  )
}

const columnsOf = (to?: "to"): readonly ListColumn<Message>[] => {
  const recipient: ListColumn<Message> = {
    label: t("messages.to"),
    cell: ({ userId, recipient: address }) => (
      <Link to="/users/$userId" params={{ userId }}>
        <Clip text={address} />
      </Link>
    ),
  }
  return [
    { label: t("messages.kind"), cell: ({ kind }) => kindOf(kind) },
    ...(to ? [recipient] : []),
    { label: t("field.state"), cell: (message) => <State message={message} /> },
    { label: t("messages.written"), cell: ({ creationDate }) => <Time at={creationDate} /> },
    ...(to ? [] : [actions()]),
  ]
}

/** As its text is called; a kind that is newer than this page has its plain name. */
export function kindOf(kind: string): string {
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

function State({ message: { status, error } }: { readonly message: Message }) {
  const state = states[status] ?? "queued"
  return (
    <>
      <Badge tone={tones[state]}>{t(`messages.state.${state}`)}</Badge>
      {error && <span className="quiet small message-error">{error}</span>}
    </>
  )
}

const actions = () =>
  actionColumn((message: Message) => (
    <>
      <ViewMessage message={message} title={kindOf(message.kind)} />
      {message.status !== MessageStatus.QUEUED && <Again message={message} />}
    </>
  ))

function Again({ message: { userId, id, recipient } }: { readonly message: Message }) {
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
