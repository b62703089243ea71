import type { Socket } from "bun"

/** The target of a link: a port of this machine, or a socket. */
export type LinkTarget = { readonly port: number } | { readonly unix: string }

/** A transparent connection between two parties, which can be cut and restored. */
export type NetworkLink = {
  readonly port: number
  /** Closes open connections and rejects new ones until it is restored. */
  readonly disconnect: () => void
  /** Delivers no more data, without closing connections. */
  readonly stall: () => void
  /** Closes open connections; new ones succeed. */
  readonly reset: () => void
  readonly restore: () => void
  /** Connects to another target from now on, like an address that has moved. */
  readonly redirect: (to: LinkTarget) => void
  readonly stop: () => void
}

type State = "whole" | "cut" | "stalled"

/** One end of a connection, and the data that waits for the other end. */
type LinkEnd = {
  socket?: Socket<LinkEnd>
  peer?: LinkEnd
  waiting: Uint8Array[]
  isOver: boolean
}

const createEnd = (): LinkEnd => ({ waiting: [], isOver: false })

export function openNetworkLink(target: LinkTarget): NetworkLink {
  let to = target
  let state: State = "whole"
  const ends = new Set<LinkEnd>()
  const flush = (end: LinkEnd) => {
    const { socket } = end
    if (!socket || state !== "whole") return
    for (let next = end.waiting[0]; next; next = end.waiting[0]) {
      const sent = socket.write(next)
      if (sent < next.length) {
        if (sent > 0) end.waiting[0] = next.subarray(sent)
        return
      }
      end.waiting.shift()
    }
    if (end.isOver) socket.end()
  }
  const over = (end: LinkEnd) => {
    ends.delete(end)
    if (!end.peer) return
    end.peer.isOver = true
    flush(end.peer)
  }
  const handlers = {
    data: ({ data: end }: Socket<LinkEnd>, bytes: Uint8Array) => {
      if (!end.peer) return
      end.peer.waiting.push(new Uint8Array(bytes))
      flush(end.peer)
    },
    drain: ({ data: end }: Socket<LinkEnd>) => flush(end),
    close: ({ data: end }: Socket<LinkEnd>) => over(end),
    error: ({ data: end }: Socket<LinkEnd>) => over(end),
  }
  const connect = (end: LinkEnd) => {
    const socket = {
      ...handlers,
      open: (opened: Socket<LinkEnd>) => {
        end.socket = opened
        flush(end)
      },
      connectError: () => {
        if (end.peer) end.peer.socket?.terminate()
      },
    }
    const connecting =
      "unix" in to
        ? Bun.connect<LinkEnd>({ unix: to.unix, socket, data: end })
        : Bun.connect<LinkEnd>({ hostname: "127.0.0.1", port: to.port, socket, data: end })
    connecting.catch(() => end.peer?.socket?.terminate())
  }
  const server = Bun.listen<LinkEnd>({
    hostname: "127.0.0.1",
    port: 0,
    data: createEnd(),
    socket: {
      ...handlers,
      open: (socket) => {
        if (state === "cut") {
          socket.terminate()
          return
        }
        const [client, far] = [createEnd(), createEnd()]
        client.peer = far
        far.peer = client
        client.socket = socket
        socket.data = client
        ends.add(client).add(far)
        connect(far)
      },
    },
  })
  const reset = () => {
    for (const end of ends) end.socket?.terminate()
    ends.clear()
  }
  return {
    port: server.port,
    disconnect: () => {
      state = "cut"
      reset()
    },
    stall: () => {
      state = "stalled"
    },
    reset,
    restore: () => {
      state = "whole"
      for (const end of ends) flush(end)
    },
    redirect: (next) => {
      to = next
    },
    stop: () => {
      reset()
      server.stop(true)
    },
  }
}
