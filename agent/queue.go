package agent

import (
	"slices"

	"github.com/piremote/piremote/agent/llm"
)

// queueName tells the two queues apart.
type queueName int

const (
	steering queueName = iota
	followUps
)

// SetQueueModes says for each queue whether everything in it is delivered at
// once, or one message at a time. It holds from the next delivery on.
func (a *Agent) SetQueueModes(steerAll, followUpAll bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.options.SteerAll, a.options.FollowUpAll = steerAll, followUpAll
}

// Queued returns copies of both queues.
func (a *Agent) Queued() (steering, followUps []llm.Message) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.steering), slices.Clone(a.followUps)
}

// delivery is what the next turn takes from a queue. The messages stay in the
// queue until they are in the conversation, so that each is in exactly one place
// whatever happens in between (hazard LOOP-04).
type delivery struct {
	name  queueName
	count int
}

func (d delivery) empty() bool { return d.count == 0 }

// queued says what the next turn takes from a queue.
func (r *run) queued(name queueName) delivery {
	r.mu.Lock()
	defer r.mu.Unlock()
	queue, all := r.queue(name)
	n := len(*queue)
	if !all {
		n = min(1, n)
	}
	return delivery{name, n}
}

func (a *Agent) queue(name queueName) (queue *[]llm.Message, all bool) {
	if name == followUps {
		return &a.followUps, a.options.FollowUpAll
	}
	return &a.steering, a.options.SteerAll
}

// deliver moves messages from a queue into the conversation. It stops when the
// run was aborted or the queue was cleared meanwhile.
func (r *run) deliver(d delivery) error {
	for n := 0; n < d.count && r.ctx.Err() == nil; n++ {
		m := r.move(d.name)
		if m == nil {
			break
		}
		r.limiter.reset()
		if err := r.message(m); err != nil {
			return err
		}
	}
	return nil
}

// move takes one message off a queue. It is the caller's to put it into the
// conversation, which message does whatever listeners do.
func (r *run) move(name queueName) llm.Message {
	r.mu.Lock()
	defer r.mu.Unlock()
	queue, _ := r.queue(name)
	if len(*queue) == 0 {
		return nil
	}
	m := (*queue)[0]
	*queue = slices.Clone((*queue)[1:])
	return m
}
